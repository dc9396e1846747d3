"""Topics, consumers and schedules on the wire."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from rowmq.stores.remote.shapes import Asked, Messages, Moment, NewMessage, Span


class Publishing(Asked):
    """Messages for every queue bound to a topic, all or none."""

    messages: Messages


class Published(Struct):
    """How many queues got a copy of each message; with none, they are kept for the first to be bound."""

    queues: int


class TopicShape(Struct):
    """A topic and the queues bound to it."""

    topic: str
    queues: list[str]


class TopicList(Struct):
    """Topics by name."""

    topics: list[TopicShape]


class Beating(Asked):
    """For how long the consumer is taken to be alive."""

    ttl: Span


class Place(Struct):
    """A consumer's place, in birth order, among those of its queue that are alive."""

    index: int
    count: int
    joined: bool


class ConsumerShape(Struct):
    """A consumer that is alive."""

    queue: str
    name: str
    born_at: datetime
    alive_until: datetime


class ConsumerList(Struct):
    """Consumers by queue and birth."""

    consumers: list[ConsumerShape]


class Leading(Asked):
    """Who wants the lead of a role, and for how long from now."""

    role: str
    consumer: str
    ttl: Span


class Led(Struct):
    """Whether it has the lead."""

    leads: bool


class SchedulePut(Asked):
    """What to push, by ``cron`` in a time zone or ``every`` so many seconds."""

    queue: str
    message: NewMessage
    cron: str | None = None
    every: Span | None = None
    timezone: str = "UTC"
    catch_up: Literal["one", "all", "none"] = "one"


class ScheduleGiven(Asked):
    """A schedule to store as it is; ``spec`` is for a scheduler of your own to read."""

    name: str
    queue: str
    spec: str
    message: NewMessage
    next_at: Moment
    paused: bool = False


class ScheduleShape(Struct, kw_only=True):
    """A schedule as it is stored; ``spec`` is the scheduler's own text."""

    name: str
    queue: str
    spec: str
    message: NewMessage
    next_at: Moment
    paused: bool = False


class ScheduleList(Struct):
    """Schedules by name."""

    schedules: list[ScheduleShape]


class Firing(Asked):
    """The tick to push the schedule's message for, and the one after it."""

    tick: Moment
    following: Moment


class Fired(Struct):
    """Whether this call fired it; otherwise somebody else was here, or it is paused or gone."""

    fired: bool


class DueQuery(Asked):
    """Only schedules, not paused, whose next tick is due then."""

    due: Moment | None = None
