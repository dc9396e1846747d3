"""What can be done with a queue: its settings changed, paused, purged, redriven, bound and unbound."""

from collections.abc import Awaitable, Callable
from typing import Any

from rowmq.core.errors import InvalidInput, QueueNotFound, Refused
from rowmq.core.names import check_name
from rowmq.core.queue import Queue
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard import queue, settings_form
from rowmq.doors.http.dashboard.board import board_of
from rowmq.doors.http.dashboard.form import Form
from rowmq.doors.http.dashboard.frame import redirect
from rowmq.doors.http.dashboard.links import link
from rowmq.doors.http.dashboard.reading import moment_in, now_of, state_in, whole_in
from rowmq.doors.http.dashboard.slices import Slices, in_time
from rowmq.doors.http.dashboard.words import total
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right

WRONG = 422
Action = Callable[[Call, Form], Awaitable[str | None]]
"""Does what a form asks for and says what it did; None if something in the form is wrong."""


async def settings(call: Call, form: Form) -> str | None:
    """Change the settings that were edited. Who names a dead-letter queue must manage that too."""
    known = await _known(call)
    changes = settings_form.changes(known, form)
    if form.wrong:
        return None
    letters = changes.get("dead_letter")
    call.demand(Right.MANAGE, *([letters] if isinstance(letters, str) else ()))
    await _put(call, form, changes)
    edited = ", ".join(name.replace("_", " ") for name in changes)
    return f"changed {edited} of {known.name}" if edited else f"nothing was edited: {known.name} is as it was"


async def pause(call: Call, form: Form) -> str | None:
    """Let claims find nothing until the queue is resumed; pushes go on."""
    known = await _known(call)
    await _put(call, form, {"paused": True})
    return f"{known.name} was paused already" if known.paused else f"paused {known.name}"


async def resume(call: Call, form: Form) -> str | None:
    """Let claims find messages again."""
    known = await _known(call)
    await _put(call, form, {"paused": False})
    return f"resumed {known.name}" if known.paused else f"{known.name} was not paused"


async def purge(call: Call, form: Form) -> str | None:
    """Delete what still waits in a queue, or what is in one state."""
    name, queues = call.path["queue"], call.broker.store.queues
    state, before = state_in(form, "state"), moment_in(form, "before", await now_of(call))
    if form.wrong:
        return None
    what = "waiting" if state is None else str(state)
    purged = await _in_time(
        call, lambda most: queues.purge(name, state=state, before=before, limit=most, now=call.now)
    )
    return f"purged {_messages(purged.done, what)} of {name}{_so_far(purged)}"


async def redrive(call: Call, form: Form) -> str | None:
    """Give a queue's dead messages, and those dead-lettered into it, another life."""
    name, history = call.path["queue"], call.broker.store.history
    to, limit = form.get("to").strip() or None, whole_in(form, "limit")
    if form.wrong:
        return None
    if to is not None:
        call.demand(Right.MANAGE, to)
    try:
        redriven = await _in_time(
            call, lambda most: history.redrive(name, to=to, limit=most, now=call.now), limit
        )
    except (InvalidInput, Refused) as error:
        if to is None:
            raise
        form.wrong["to"] = str(error)
        return None
    where = "" if to is None else f" to {to}"
    return f"redrove {_messages(redriven.done)} of {name}{where}{_so_far(redriven)}"


async def bind(call: Call, form: Form) -> str | None:
    """Bind the queue to a topic; who does it manages both."""
    name, topic = call.path["queue"], form.get("topic").strip()
    topics = call.broker.store.topics
    try:
        call.demand(Right.MANAGE, check_name(topic, "topic name"))
        fresh = await call.run(lambda: topics.bind(topic, name, now=call.now))
    except InvalidInput as error:
        form.wrong["topic"] = str(error)
        return None
    return f"bound {name} to {topic}" if fresh else f"{name} was bound to {topic} already"


async def unbind(call: Call, form: Form) -> str | None:
    """Unbind the queue, leaving its messages where they are."""
    name, topic = call.path["queue"], form.get("topic")
    call.demand(Right.MANAGE, topic)
    topics = call.broker.store.topics
    was = await call.run(lambda: topics.unbind(topic, name, now=call.now))
    return f"unbound {name} from {topic}" if was else f"{name} was not bound to {topic}"


async def _known(call: Call) -> Queue:
    """The queue as it is now; a misspelt name makes no queue."""
    name = call.path["queue"]
    found = await call.run(lambda: call.broker.store.queues.get(name))
    if found is None:
        raise QueueNotFound(name)
    return found


async def _put(call: Call, form: Form, changes: dict[str, Any]) -> None:
    """Change settings; what the store alone can know is wrong is about the dead-letter queue."""
    name, queues = call.path["queue"], call.broker.store.queues
    try:
        await call.run(lambda: queues.put(name, changes, now=call.now))
    except (InvalidInput, Refused) as error:
        form.wrong["dead_letter"] = str(error)


async def _in_time(call: Call, change: Callable[[int], int], limit: int | None = None) -> Slices:
    """Change messages for as long as a request has time."""
    within = board_of(call.request).request_timeout
    return await call.run(lambda: in_time(change, limit, within))


def _so_far(done: Slices) -> str:
    return " so far; press again for the rest" if done.more else ""


def _messages(count: int, what: str = "") -> str:
    noun = "message" if count == 1 else "messages"
    return f"{total(count)} {what} {noun}" if what else f"{total(count)} {noun}"


def _route(action: Action) -> Route:
    """The route of an action: done once, then shown what it did, or the form again with what is wrong."""
    name = action.__name__

    async def endpoint(call: Call) -> Answer:
        said = await action(call, call.body)
        if said is None or call.body.wrong:
            return await queue.shown(call, asked=name, form=call.body, status=WRONG)
        return redirect(call, link("queues", call.path["queue"]), said)

    endpoint.__doc__ = action.__doc__
    return Route("POST", f"/ui/queues/{{queue}}/{name}", endpoint, Right.MANAGE, over="queue")


ROUTES = tuple(_route(each) for each in (settings, pause, resume, purge, redrive, bind, unbind))
