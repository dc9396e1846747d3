"""Schedules: put by cron or every so often, and fired by whoever runs a scheduler."""

from collections.abc import Callable

from rowmq.core.errors import ScheduleNotFound
from rowmq.core.history import Schedule
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.native.answering import done, json
from rowmq.doors.http.refusal import forbidden
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right
from rowmq.runtime.rule import Rule
from rowmq.runtime.schedules import ScheduleBook
from rowmq.stores.remote import reading, writing
from rowmq.stores.remote.role_shapes import (
    DueQuery,
    Fired,
    Firing,
    ScheduleGiven,
    ScheduleList,
    SchedulePut,
    ScheduleShape,
)
from rowmq.stores.remote.shapes import Done


async def list_schedules(call: Call) -> Answer:
    """List the schedules whose queues you may read, all or those that are due."""
    due = reading.maybe_moment(call.query.due)
    found = await call.run(lambda: call.broker.store.schedules.list(due=due))
    allowed = [each for each in found if call.principal.may(Right.READ, each.queue)]
    return json(ScheduleList([writing.schedule(each) for each in allowed]))


async def get_schedule(call: Call) -> Answer:
    """Look up a schedule."""
    return json(writing.schedule(await _known(call, Right.READ)))


async def put_schedule(call: Call) -> Answer:
    """Have a message pushed by the clock: ``cron``, or ``every`` so many seconds."""
    said: SchedulePut = call.body
    await _may_put(call, call.path["schedule"], said.queue)
    rule = Rule.of(cron=said.cron, every=said.every, timezone=said.timezone, catch_up=said.catch_up)
    message = reading.message(said.message)
    return await _booked(
        call, lambda book, name: book.put(name, queue=said.queue, message=message, rule=rule, now=call.now)
    )


async def store_schedule(call: Call) -> Answer:
    """Store a schedule as it is given, for schedulers of your own; ``spec`` is what they read."""
    said = reading.schedule(call.body)
    await _may_put(call, said.name, said.queue)
    await call.run(lambda: call.broker.store.schedules.put(said, now=call.now))
    return json(writing.schedule(said))


async def drop_schedule(call: Call) -> Answer:
    """Delete a schedule; what it has pushed stays."""
    name = call.path["schedule"]
    if await _named(call, name) is None and call.principal.may_everywhere(Right.MANAGE):
        return done(changed=False)
    await _known(call, Right.MANAGE)
    return done(changed=await call.run(lambda: call.broker.store.schedules.drop(name)))


async def pause(call: Call) -> Answer:
    """Let a schedule fire no more until it is resumed."""
    await _known(call, Right.MANAGE)
    return await _booked(call, lambda book, name: book.pause(name, now=call.now))


async def resume(call: Call) -> Answer:
    """Let a schedule fire again, from now on."""
    await _known(call, Right.MANAGE)
    return await _booked(call, lambda book, name: book.resume(name, now=call.now))


async def fire(call: Call) -> Answer:
    """Push a schedule's message for a tick, and set the following one, only once whoever asks."""
    name, said = call.path["schedule"], call.body
    if await _named(call, name) is None and call.principal.may_everywhere(Right.PUSH):
        return json(Fired(fired=False))
    await _known(call, Right.PUSH)
    tick, following = reading.moment(said.tick), reading.moment(said.following)
    schedules = call.broker.store.schedules
    return json(Fired(await call.run(lambda: schedules.fire(name, tick, following, now=call.now))))


async def _booked(call: Call, change: Callable[[ScheduleBook, str], Schedule]) -> Answer:
    book, name = ScheduleBook(call.broker.store), call.path["schedule"]
    return json(writing.schedule(await call.run(lambda: change(book, name))))


async def _may_put(call: Call, name: str, queue: str) -> None:
    """Refuse who does not manage the queue, and also the one that the schedule is taken from."""
    call.demand(Right.MANAGE, queue)
    known = await _named(call, name)
    if known is not None:
        call.demand(Right.MANAGE, known.queue)


async def _known(call: Call, right: Right) -> Schedule:
    """The schedule that the path names; one that is not there is forbidden to who may not know."""
    known = await _named(call, call.path["schedule"])
    if known is None:
        if call.principal.may_everywhere(right):
            raise ScheduleNotFound(call.path["schedule"])
        raise forbidden()
    call.demand(right, known.queue)
    return known


async def _named(call: Call, name: str) -> Schedule | None:
    found = await call.run(call.broker.store.schedules.list)
    return next((each for each in found if each.name == name), None)


SCHEDULE = "/v1/schedules/{schedule}"
ROUTES = (
    Route("GET", "/v1/schedules", list_schedules, Right.READ, late=True, query=DueQuery, gives=ScheduleList),
    Route(
        "POST",
        "/v1/schedules",
        store_schedule,
        Right.MANAGE,
        late=True,
        body=ScheduleGiven,
        gives=ScheduleShape,
        refuses=(404, 422),
    ),
    Route("GET", SCHEDULE, get_schedule, Right.READ, late=True, gives=ScheduleShape, refuses=(404,)),
    Route(
        "PUT",
        SCHEDULE,
        put_schedule,
        Right.MANAGE,
        late=True,
        body=SchedulePut,
        gives=ScheduleShape,
        refuses=(404, 422),
    ),
    Route("DELETE", SCHEDULE, drop_schedule, Right.MANAGE, late=True, gives=Done),
    Route("POST", f"{SCHEDULE}/pause", pause, Right.MANAGE, late=True, gives=ScheduleShape, refuses=(404,)),
    Route(
        "POST",
        f"{SCHEDULE}/resume",
        resume,
        Right.MANAGE,
        late=True,
        gives=ScheduleShape,
        refuses=(404, 422),
    ),
    Route(
        "POST",
        f"{SCHEDULE}/fire",
        fire,
        Right.PUSH,
        late=True,
        body=Firing,
        gives=Fired,
        refuses=(404, 409, 422, 429),
    ),
)
