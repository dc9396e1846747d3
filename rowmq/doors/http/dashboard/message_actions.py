"""What can be done with a message: retried, killed, moved, dropped, or pushed again as an edited copy."""

from collections.abc import Awaitable, Callable

from rowmq.core.errors import InvalidInput, Refused
from rowmq.core.history import Amendment, Record
from rowmq.core.message import Batch
from rowmq.core.outcome import State
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard import message
from rowmq.doors.http.dashboard.copying import copied
from rowmq.doors.http.dashboard.form import Form
from rowmq.doors.http.dashboard.frame import redirect
from rowmq.doors.http.dashboard.links import link
from rowmq.doors.http.dashboard.reading import state_in
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right

WRONG = 422
FINISHED = (State.DONE, State.DEAD)
DONE = {
    Amendment.RETRY: "made message {id} of {queue} ready again",
    Amendment.KILL: "killed message {id} of {queue}",
    Amendment.MOVE: "moved message {id} from {queue} to {to}",
    Amendment.DROP: "dropped message {id} of {queue}",
}


async def retry(call: Call) -> Answer:
    """Make a message ready now, with attempts at 0."""
    return await _amended(call, Amendment.RETRY)


async def kill(call: Call) -> Answer:
    """Bury a message."""
    return await _amended(call, Amendment.KILL)


async def move(call: Call) -> Answer:
    """Take a message to another queue; who does it manages both."""
    form: Form = call.body
    to = form.get("to").strip()
    if not to:
        form.wrong["to"] = "name the queue that the message is moved to"
        return await message.shown(call, asked="move", form=form, status=WRONG)
    call.demand(Right.MANAGE, to)
    try:
        return await _amended(call, Amendment.MOVE, to)
    except (InvalidInput, Refused) as error:
        form.wrong["to"] = str(error)
        return await message.shown(call, asked="move", form=form, status=WRONG)


async def drop(call: Call) -> Answer:
    """Delete a message for good."""
    return await _amended(call, Amendment.DROP)


async def copy(call: Call) -> Answer:
    """Push an edited copy of a message to a queue that the visitor may push to."""
    found, form = await message.readable(call, call.path["id"]), call.body
    made, queue = copied(found, form), form.get("queue").strip()
    if made is not None:
        call.demand(Right.PUSH, queue)
        try:
            await call.push(Batch(queue, [made]))
        except (InvalidInput, Refused) as error:
            form.wrong["queue"] = str(error)
    if made is None or form.wrong:
        return await message.shown(call, asked="copy", form=form, status=WRONG)
    said = f"pushed a copy of message {found.id} to {queue}"
    may_look = call.principal.may(Right.READ, queue)
    return redirect(call, link("messages", made.id if may_look else found.id), f"{said}: it is {made.id}")


async def _amended(call: Call, amendment: Amendment, to: str | None = None) -> Answer:
    """Change a message, and say what that did; or what became of it meanwhile, if it could not be."""
    found = await message.readable(call, call.path["id"])
    call.demand(Right.MANAGE, found.queue)
    history = call.broker.store.history
    if not _is_as_seen(found, call.body):
        return await _changed(call, found, amendment)
    count = await call.run(lambda: history.amend([found.id], amendment, to=to, now=call.now))
    if not count:
        return await _changed(call, found, amendment)
    said = DONE[amendment].format(id=found.id, queue=found.queue, to=to)
    return redirect(call, _after(found, amendment), said)


def _is_as_seen(found: Record, form: Form) -> bool:
    """Whether a message is as finished as when its page was shown: nobody wants to drop what runs again."""
    seen = state_in(form, "seen")
    return seen is None or (seen in FINISHED) == (found.state in FINISHED)


async def _changed(call: Call, found: Record, amendment: Amendment) -> Answer:
    history = call.broker.store.history
    now = await call.run(lambda: history.get(found.id, now=call.now))
    said = "is gone" if now is None else f"is {now.state} by now"
    to = link("queues", found.queue) if now is None else link("messages", found.id)
    return redirect(call, to, f"nothing was done: message {found.id} {said}, so {amendment} does not apply")


def _after(found: Record, amendment: Amendment) -> str:
    """Where to go on: to the message, or where it was in if there is none any more."""
    if amendment is Amendment.DROP:
        return link("queues", found.queue, found.state)
    return link("messages", found.id)


def _route(endpoint: Callable[[Call], Awaitable[Answer]], right: Right) -> Route:
    return Route("POST", f"{message.MESSAGE}/{endpoint.__name__}", endpoint, right, late=True)


ROUTES = (*(_route(each, Right.MANAGE) for each in (retry, kill, move, drop)), _route(copy, Right.PUSH))
