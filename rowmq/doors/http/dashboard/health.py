"""How the store and the server are, and what one should know about them."""

import platform
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from rowmq.core.history import Durability
from rowmq.core.monitor import LARGEST_MEASURED, Health
from rowmq.core.weak import weak_settings
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard import words
from rowmq.doors.http.dashboard.board import board_of
from rowmq.doors.http.dashboard.frame import page
from rowmq.doors.http.dashboard.standing import monitor_of
from rowmq.doors.http.route import Route
from rowmq.doors.http.tokens import utc_now
from rowmq.doors.right import Right
from rowmq.runtime.log import redacted

SURVIVES = {
    "A": "What is acknowledged survives a power loss.",
    "B": "What is acknowledged survives a crash of the process, but not of the machine or the power.",
    "C": "What was acknowledged last may be lost when the process or the server crashes.",
}
FAR = timedelta(seconds=2)
"""How far apart clocks may be before one should know."""


class Found(NamedTuple):
    """What the store says about itself."""

    health: Health
    durability: Durability
    away: timedelta
    """How far its clock is ahead of this machine's."""
    took: timedelta
    """How long a question and its answer took."""


async def health(call: Call) -> Answer:
    """Durability, schema, sizes and settings of the store, and the server, for who may read everything."""
    found = await call.run(lambda: _ask(call))
    board = board_of(call.request)
    return page(
        call,
        "health.html",
        found=found,
        weak=weak_settings(found.health.settings),
        measured=LARGEST_MEASURED,
        survives=SURVIVES.get(found.durability.grade, ""),
        warnings=list(warnings(found, asks=board.sessions.asks)),
        store=redacted(call.broker.client.url),
        up=utc_now() - board.started,
        started=board.started,
        python=platform.python_version(),
        watched=len(board.hub),
        asks=board.sessions.asks,
    )


def warnings(found: Found, *, asks: bool) -> Iterator[str]:
    """What weakens durability, or may surprise, in words."""
    grade, because = found.durability
    if grade != "A":
        yield f"{SURVIVES.get(grade, 'The store is not durable.')} The reason: {because}."
    if abs(found.away) > FAR:
        said = "ahead of" if found.away > timedelta(0) else "behind"
        yield (
            f"The store's clock is {words.took(abs(found.away))} {said} this machine's. Leases go by the"
            " store's, so nothing is lost; run NTP on both."
        )
    if not asks:
        yield (
            "No tokens are set up: whoever reaches this server may do everything. It listens to this machine"
            " only; make tokens with rowmq tokens before others can reach it, also through a proxy."
        )


def _ask(call: Call) -> Found:
    """Away from the event loop: everything that the page says."""
    store, before = call.broker.store, utc_now()
    there, after = store.now(), utc_now()
    return Found(monitor_of(call).health(), store.durability, _away(there, before, after), after - before)


def _away(there: datetime, before: datetime, after: datetime) -> timedelta:
    return there - (before + (after - before) / 2)


ROUTES = (Route("GET", "/ui/health", health, Right.READ),)
