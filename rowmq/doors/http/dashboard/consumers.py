"""Who is consuming, from which queue, and since when."""

import msgspec

from rowmq.core.history import ConsumerInfo
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard.frame import page
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right

MOST = 500
"""How many are listed."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the name of the consumer or of its queue."""

    q: str = ""


async def consumers(call: Call) -> Answer:
    """The consumers alive now, of the queues that you may read."""
    asked: Asked = call.query
    alive = await call.run(lambda: call.broker.store.consumers.list(now=call.now))
    allowed = [each for each in alive if call.principal.may(Right.READ, each.queue)]
    found = [each for each in allowed if _matches(each, asked.q.casefold())]
    return page(
        call, "consumers.html", asked=asked, found=found[:MOST], matching=len(found), total=len(allowed)
    )


def _matches(each: ConsumerInfo, sought: str) -> bool:
    return sought in each.name.casefold() or sought in each.queue.casefold()


ROUTES = (Route("GET", "/ui/consumers", consumers, Right.READ, late=True, query=Asked),)
