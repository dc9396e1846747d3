"""Topics, and the queues that are bound to them."""

from itertools import groupby
from typing import NamedTuple

import msgspec

from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard.frame import page
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right

MOST = 200
"""How many topics are listed, and how many queues of each."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the name of the topic or of a queue bound to it."""

    q: str = ""


class Topic(NamedTuple):
    """A topic and the queues that get what is published to it, as far as the visitor may read them."""

    name: str
    queues: list[str]
    hidden: int
    """How many more are bound that he may not read."""


async def topics(call: Call) -> Answer:
    """The topics that you may read, with the queues bound to each."""
    asked: Asked = call.query
    pairs = await call.run(call.broker.store.topics.bindings)
    known = [
        _topic(call, name, [queue for _, queue in bound])
        for name, bound in groupby(pairs, key=lambda pair: pair[0])
        if call.principal.may(Right.READ, name)
    ]
    found = [each for each in known if _matches(each, asked.q.casefold())]
    return page(
        call,
        "topics.html",
        asked=asked,
        found=found[:MOST],
        matching=len(found),
        total=len(known),
        most=MOST,
    )


def _topic(call: Call, name: str, bound: list[str]) -> Topic:
    queues = [each for each in bound if call.principal.may(Right.READ, each)]
    return Topic(name, queues, len(bound) - len(queues))


def _matches(topic: Topic, sought: str) -> bool:
    return any(sought in each.casefold() for each in (topic.name, *topic.queues))


ROUTES = (Route("GET", "/ui/topics", topics, Right.READ, late=True, query=Asked),)
