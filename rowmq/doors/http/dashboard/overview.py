"""The front page: every queue, how it stands and what it does."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from rowmq.core.monitor import Counts, Sample
from rowmq.core.queue import Queue
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard.board import board_of
from rowmq.doors.http.dashboard.figures import Reach, activity, charts
from rowmq.doors.http.dashboard.frame import page
from rowmq.doors.http.dashboard.links import link
from rowmq.doors.http.dashboard.past import mark_of, of
from rowmq.doors.http.dashboard.row import Row, by_queue, rows, summed
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
    """The queues of a page, and whether there are others before and after them."""

    shown: Sequence[Queue]
    allowed: frozenset[str]
    """The names of all that the visitor may read."""
    matching: int
    more: bool

    @property
    def names(self) -> list[str]:
        """The names of those on the page."""
        return [each.name for each in self.shown]


class Found(NamedTuple):
    """What was read for a page, all at once."""

    choice: Choice
    counts: dict[str, Counts]
    hour: list[Sample]
    history: list[Sample]
    alive: dict[str, int]
    now: datetime


def choose(queues: Sequence[Queue], who: Principal, asked: Asked) -> Choice:
    """The queues of a page: those whose names have what is sought in them, as far as he may read them."""
    allowed = [each for each in queues if who.may(Right.READ, each.name)]
    sought = asked.q.casefold()
    matching = [each for each in allowed if sought in each.name.casefold()] if sought else allowed
    behind = [each for each in matching if asked.after is None or each.name > asked.after]
    shown = behind[:PAGE]
    return Choice(shown, frozenset(each.name for each in allowed), len(matching), len(behind) > PAGE)


async def overview(call: Call) -> Answer:
    """Every queue that you may read: how it stands, what it did in the last hour, and the charts of all."""
    asked: Asked = call.query
    found = await call.run(lambda: _read(call, asked))
    choice, lines = found.choice, _rows(found)
    history = activity(asked.reach, found.now, of(found.history, choice.allowed))
    return page(
        call,
        "overview.html",
        asked=asked,
        choice=choice,
        rows=lines,
        totals=summed([row.counts for row in lines]),
        charts=charts(asked.reach, history),
        live=link(
            "live",
            q=asked.q or None,
            after=asked.after,
            reach=asked.reach,
            seen=mark_of(found.hour, found.now),
        ),
    )


def _read(call: Call, asked: Asked) -> Found:
    """Away from the event loop: everything that the page says."""
    store, monitor, board = call.broker.store, monitor_of(call), board_of(call.request)
    choice = choose(store.queues.list(), call.principal, asked)
    now = call.now or store.now()
    hour = board.hour.upto(now, monitor)
    return Found(
        choice,
        monitor.counts(choice.names, now=call.now),
        hour,
        hour if asked.reach == "hour" else board.day.upto(now, monitor),
        Counter(each.queue for each in store.consumers.list(now=call.now)),
        now,
    )


def _rows(found: Found) -> list[Row]:
    samples = by_queue(found.choice.names, found.hour)
    past = {name: activity("hour", found.now, each) for name, each in samples.items()}
    return rows(found.choice.shown, found.counts, past, found.alive)


async def nothing(call: Call) -> Answer:
    """No page: otherwise this would be SQS's, whose paths begin with anything."""
    raise Refusal(404, f"there is no page {call.path['page']!r}")


ROUTES = (
    Route("GET", "/ui", overview, Right.READ, late=True, query=Asked),
    Route("GET", "/ui/{page}", nothing, Right.READ, late=True),
)
