"""What is pushed by the clock: when it fires next, and pausing, firing and dropping it."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple
from uuid import uuid4

import msgspec

from rowmq.core.errors import InvalidSetting, ScheduleNotFound
from rowmq.core.history import Schedule
from rowmq.core.message import Batch
from rowmq.core.monitor import Plan
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard import words
from rowmq.doors.http.dashboard.frame import page, redirect
from rowmq.doors.http.dashboard.links import link
from rowmq.doors.http.dashboard.standing import monitor_of
from rowmq.doors.http.refusal import forbidden
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right
from rowmq.runtime.rule import Rule
from rowmq.runtime.schedules import ScheduleBook

MOST = 500
"""How many are listed."""
EXCERPT = 120
"""Characters of a message that are shown."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the name of the schedule or of its queue."""

    q: str = ""


class Line(NamedTuple):
    """A schedule as the page shows it."""

    schedule: Plan
    rule: str
    excerpt: str


async def schedules(call: Call) -> Answer:
    """The schedules whose queues you may read, by name."""
    asked: Asked = call.query
    known = await call.run(monitor_of(call).plans)
    allowed = [each for each in known if call.principal.may(Right.READ, each.queue)]
    sought = asked.q.casefold()
    found = [each for each in allowed if sought in each.name.casefold() or sought in each.queue.casefold()]
    lines = [Line(each, told(each.spec), excerpt(each)) for each in found[:MOST]]
    return page(call, "schedules.html", asked=asked, found=lines, matching=len(found), total=len(allowed))


def told(spec: str) -> str:
    """When a schedule fires, in words; a rule that is somebody else's scheduler's stands as it is.

    >>> told('{"every": 90}'), told('{"cron": "0 3 * * *", "timezone": "Europe/Berlin"}'), told("by moon")
    ('every 1 min 30 s', '0 3 * * * Europe/Berlin', 'by moon')
    """
    try:
        rule = Rule.parse(spec)
    except (InvalidSetting, TypeError):
        return spec[:EXCERPT]
    if rule.every is not None:
        return f"every {words.took(rule.every)}"
    return f"{rule.cron} {rule.timezone}"


def excerpt(plan: Plan) -> str:
    """The beginning of what is pushed."""
    if plan.binary:
        return f"{plan.size:,} bytes"
    text = plan.body[: 4 * EXCERPT].decode(errors="replace")
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…"


async def pause(call: Call, known: Schedule) -> str:
    """Let it fire no more until it is resumed."""
    await call.run(lambda: ScheduleBook(call.broker.store).pause(known.name, now=call.now))
    return f"paused schedule {known.name}"


async def resume(call: Call, known: Schedule) -> str:
    """Let it fire again, from now on."""
    again = await call.run(lambda: ScheduleBook(call.broker.store).resume(known.name, now=call.now))
    return f"resumed schedule {known.name}: it fires next at {words.moment(again.next_at)} UTC"


async def drop(call: Call, known: Schedule) -> str:
    """Delete it; what it has pushed stays."""
    await call.run(lambda: call.broker.store.schedules.drop(known.name))
    return f"deleted schedule {known.name}"


async def push(call: Call, known: Schedule) -> str:
    """Push its message once more, now; its ticks stay as they are."""
    message = known.message.copied(uuid4())
    await call.push(Batch(known.queue, [message]))
    return f"pushed the message of schedule {known.name} to {known.queue}, as {message.id}"


def _action(right: Right, do: Callable[[Call, Schedule], Awaitable[str]]) -> Route:
    """The route of an action on a schedule, for who has the right on its queue."""

    async def act(call: Call) -> Answer:
        return redirect(call, link("schedules"), await do(call, await _known(call, right)))

    path = f"/ui/schedules/{{schedule}}/{do.__name__}"
    return Route("POST", path, act, right, late=True)


async def _known(call: Call, right: Right) -> Schedule:
    """The schedule that the path names; one that is not there is forbidden to who may not know."""
    name = call.path["schedule"]
    found = await call.run(call.broker.store.schedules.list)
    known = next((each for each in found if each.name == name), None)
    if known is None:
        raise ScheduleNotFound(name) if call.principal.may_everywhere(right) else forbidden()
    call.demand(right, known.queue)
    return known


ROUTES = (
    Route("GET", "/ui/schedules", schedules, Right.READ, late=True, query=Asked),
    *(_action(Right.MANAGE, do) for do in (pause, resume, drop)),
    _action(Right.PUSH, push),
)
