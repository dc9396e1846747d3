"""The front page: every queue, how it stands and what it does."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from rowmq.core.queue import Queue
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard.board import board_of
from rowmq.doors.http.dashboard.figures import Reach
from rowmq.doors.http.dashboard.frame import page
from rowmq.doors.http.dashboard.links import link
from rowmq.doors.http.dashboard.look import Scope
from rowmq.doors.http.dashboard.standing import monitor_of
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.route import Route
from rowmq.doors.right import Principal, Right

PAGE = 100
"""How many queues a page has."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Which queues, by a part of their names and from which name on; and how far back the charts go."""

    q: str = ""
    after: str | None = None
    reach: Reach = "hour"


class Choice(NamedTuple):
    """The queues of a page, and what there is beside them."""

    shown: Sequence[Queue]
    allowed: frozenset[str]
    """The names of all that the visitor may read."""
    matching: int
    """How many have in their names what is sought."""
    more: bool
    """Whether others follow."""


def choose(queues: Sequence[Queue], who: Principal, asked: Asked) -> Choice:
    """The queues of a page: those whose names have what is sought in them, as far as he may read them."""
    allowed = [each for each in queues if who.may(Right.READ, each.name)]
    sought = asked.q.casefold()
    matching = [each for each in allowed if sought in each.name.casefold()] if sought else allowed
    behind = [each for each in matching if asked.after is None or each.name > asked.after]
    names = frozenset(each.name for each in allowed)
    return Choice(behind[:PAGE], names, len(matching), len(behind) > PAGE)


@dataclass(frozen=True, slots=True)
class Once:
    """Somebody who looks at the front page, once."""

    who: Principal
    asked: Asked

    def choose(self, queues: Sequence[Queue]) -> Sequence[Queue]:
        """The queues on the page."""
        return choose(queues, self.who, self.asked).shown

    def scope(self, queues: Sequence[Queue]) -> Scope:
        """All that he may read."""
        return self.asked.reach, choose(queues, self.who, self.asked).allowed


async def overview(call: Call) -> Answer:
    """Every queue that you may read: how it stands, what it did in the last hour, and the charts of all."""
    asked: Asked = call.query
    store, monitor, looker = call.broker.store, monitor_of(call), board_of(call.request).looker
    visitor = Once(call.principal, asked)
    sight = await call.run(lambda: looker.look(store, monitor, [visitor], call.now))
    choice = choose(sight.queues, call.principal, asked)
    kept = {"q": asked.q or None, "reach": asked.reach}
    return page(
        call,
        "overview.html",
        asked=asked,
        choice=choice,
        queues=[each for each in choice.shown if each.name in sight.cells],
        cells=sight.of(choice.shown, visitor.scope(sight.queues)),
        kept=kept,
        live=link("live", **kept, after=asked.after, seen=sight.mark),
    )


async def nothing(call: Call) -> Answer:
    """No page: otherwise this would be SQS's, whose paths begin with anything."""
    raise Refusal(404, f"there is no page {call.path['page']!r}")


ROUTES = (
    Route("GET", "/ui", overview, Right.READ, late=True, query=Asked),
    Route("GET", "/ui/", overview, Right.READ, late=True, query=Asked),
    Route("GET", "/ui/{page}", nothing, Right.READ, late=True),
)
