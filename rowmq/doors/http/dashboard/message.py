"""A message's page: what it says, what became of it, and every attempt."""

from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from rowmq.core.history import Record
from rowmq.core.monitor import MOST_LOOKED
from rowmq.core.outcome import State
from rowmq.core.queue import Queue
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard import copying
from rowmq.doors.http.dashboard.failure import Failure, failure
from rowmq.doors.http.dashboard.form import Form
from rowmq.doors.http.dashboard.frame import HEADERS, page, redirect
from rowmq.doors.http.dashboard.links import link
from rowmq.doors.http.dashboard.payload import shown as payload_shown
from rowmq.doors.http.dashboard.standing import monitor_of, names_for
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right

BYTES = "application/octet-stream"
SANDBOX = "default-src 'none'; sandbox; frame-ancestors 'none'"
MOST_FAILURES = 100
"""How many failed attempts are shown, the newest of them."""
LONGEST_ERROR = 20_000
"""How many characters of an error are shown."""
MOST_METADATA = 200
LINKS = ("rowmq.replay_of", "rowmq.copy_of")
"""Metadata that names another message."""
WRONG, MISSING = 422, 404


class Search(msgspec.Struct):
    """The id that is looked for."""

    id: str = ""


class About(NamedTuple):
    """A message, and what is known of it besides."""

    record: Record
    queue: Queue | None
    failures: list[Failure]
    failed: int
    """How many failures there are in all."""
    others: list[str]


async def find(call: Call) -> Answer:
    """Go to the message whose id was typed, or say what is wrong with it."""
    form, said = Form({"id": call.query.id}), call.query.id.strip()
    if not said:
        return page(call, "message_find.html", form=form)
    try:
        found = await readable(call, said)
    except Refusal as error:
        form.wrong["id"] = error.sentence
        return page(call, "message_find.html", form=form, status=error.status)
    return redirect(call, link("messages", found.id))


async def message(call: Call) -> Answer:
    """What a message says and what became of it."""
    return await shown(call)


async def raw(call: Call) -> Answer:
    """The payload's bytes as they are, to be kept and never to be shown by a browser."""
    found = await readable(call, call.path["id"])
    if found.body is None:
        raise Refusal(404, "the payload of this message was dropped when it was done")
    name = f'attachment; filename="{found.id}.{"bin" if found.binary else "json"}"'
    headers = {**HEADERS, "content-disposition": name, "content-security-policy": SANDBOX}
    return Answer(200, found.body, BYTES, headers)


async def shown(call: Call, *, asked: str = "", form: Form | None = None, status: int = 200) -> Answer:
    """The page; ``asked`` is the form on it that was sent, with what is wrong with it."""
    found = await readable(call, call.path["id"])
    about = await call.run(lambda: _about(call, found))
    return page(
        call,
        "message.html",
        status=status,
        asked=asked,
        form=form or Form(),
        blank=Form(),
        about=about,
        record=found,
        payload=payload_shown(found.body, binary=found.binary),
        result=None if found.result is None else payload_shown(found.result, binary=False),
        metadata=list(found.metadata.items())[:MOST_METADATA],
        links=[(key, id) for key in LINKS for id in _ids(found.metadata.get(key))],
        copy=copying.values(found),
        formats=copying.formats(found),
        pushes=bool(call.principal.rights.get(Right.PUSH)),
        can=possible(found.state),
        most=MOST_LOOKED,
    )


async def readable(call: Call, text: str) -> Record:
    """The message of this id; for who may not look at it, there is none. Raises Refusal."""
    ids = _ids(text)
    if not ids:
        raise Refusal(WRONG, f"a message id is a UUID, not {text!r}")
    found = await call.run(lambda: call.broker.store.history.get(ids[0], now=call.now))
    if found is None or not call.principal.may(Right.READ, found.queue):
        raise Refusal(MISSING, "there is no such message; it may have been pruned or dropped")
    return found


def possible(state: State) -> dict[str, bool]:
    """What can be done with a message in this state."""
    done, dead = state is State.DONE, state is State.DEAD
    return {"retry": not done, "kill": not done and not dead, "move": not done, "drop": True}


def _about(call: Call, found: Record) -> About:
    store = call.broker.store
    failed = monitor_of(call).failures(found.seq, limit=MOST_FAILURES, longest=LONGEST_ERROR)
    failures = [failure(each) for each in failed.last]
    queue = store.queues.get(found.queue)
    return About(found, queue, failures, failed.total, names_for(call, found.queue))


def _ids(text: Any) -> list[UUID]:
    """The id that a text is, if it is one."""
    try:
        return [UUID(text)]
    except (ValueError, TypeError, AttributeError):
        return []


MESSAGE = "/ui/messages/{id}"
ROUTES = (
    Route("GET", "/ui/messages", find, Right.READ, late=True, query=Search),
    Route("GET", MESSAGE, message, Right.READ, late=True),
    Route("GET", f"{MESSAGE}/raw", raw, Right.READ, late=True),
)
