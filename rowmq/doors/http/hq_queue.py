"""A queue as hq's clients know it: two settings, and when it was made and changed."""

import threading
from collections.abc import Mapping
from datetime import datetime, timedelta
from math import ceil
from typing import Any

import msgspec

from rowmq.core.errors import InvalidSetting
from rowmq.core.outcome import State
from rowmq.core.queue import Queue
from rowmq.core.store import Store
from rowmq.doors.http.refusal import Refusal

UNLIMITED = 2**31 - 1
"""How hq's clients, who know only numbers, see attempts without a limit."""
INSERTED, UPDATED = "hq:inserted_at", "hq:updated_at"
"""Tags of a queue that was made here, or changed."""
UNKNOWN = "1970-01-01 00:00:00.000"
PAGE = 50
_making = threading.Lock()


class Asked(msgspec.Struct):
    """What makes a queue."""

    name: str
    max_attempts: int
    visibility_timeout_seconds: int


class Changed(msgspec.Struct):
    """What changes a queue; what is left out stays."""

    max_attempts: int | None = None
    visibility_timeout_seconds: int | None = None


class Shown(msgspec.Struct):
    """A queue."""

    name: str
    max_attempts: int
    visibility_timeout_seconds: int
    inserted_at: str
    updated_at: str


def shown(queue: Queue) -> Shown:
    """A queue, also one that was made at another door: then nobody knows when."""
    inserted = queue.tags.get(INSERTED, UNKNOWN)
    return Shown(
        queue.name,
        queue.max_attempts or UNLIMITED,
        ceil(queue.lease.total_seconds()),
        inserted,
        queue.tags.get(UPDATED, inserted),
    )


def settings_of(said: Asked | Changed) -> dict[str, Any]:
    """What was said, as the engine's settings."""
    for name in ("max_attempts", "visibility_timeout_seconds"):
        value = getattr(said, name)
        if value is not None and value < 1:
            raise Refusal(422, f"{name} must be >= 1")
    given: dict[str, Any] = {}
    if said.max_attempts is not None:
        given["max_attempts"] = said.max_attempts
    if said.visibility_timeout_seconds is not None:
        given["lease"] = _span(said.visibility_timeout_seconds)
    return given


def _span(seconds: int) -> timedelta:
    try:
        return timedelta(seconds=seconds)
    except OverflowError:
        raise InvalidSetting(
            f"a visibility timeout is no longer than 3650 days, not {seconds} seconds"
        ) from None


def create_queue(store: Store, name: str, settings: Mapping[str, Any], now: datetime | None) -> None:
    """Make a queue that must be new."""
    with _making:  # there is no other way to tell whether it was us who made it
        if store.queues.get(name) is not None:
            raise Refusal(409, "Error: queue name must be unique")
        moment = _written(now or store.now())
        store.queues.put(name, {**settings, "tags": {INSERTED: moment, UPDATED: moment}}, now=now)


def change_queue(store: Store, name: str, settings: Mapping[str, Any], now: datetime | None) -> None:
    """Change a queue if it is there, and with its lease those that were given."""
    moment = now or store.now()
    with _making:
        queue = store.queues.get(name)
        if queue is not None:
            tags = {**queue.tags, UPDATED: _written(moment)}
            store.queues.put(name, {**settings, "tags": tags}, now=now)
    if queue is not None and settings.get("lease", queue.lease) != queue.lease:
        _regrant(store, name, settings["lease"], moment, now)


def _regrant(store: Store, queue: str, lease: timedelta, moment: datetime, now: datetime | None) -> None:
    """Let the leases there are end as if they had been given for that long."""
    after: int | None = 0
    while after is not None:
        page = store.history.find(queue, state=State.LEASED, after=after, limit=PAGE, now=now)
        after = page.after
        for each in page.records:
            receipt = store.history.receipt(each.id, now=now)
            if receipt is not None and each.started_at is not None:
                left = each.started_at + lease - moment
                store.extend([receipt], max(left, timedelta(milliseconds=1)), now=now)


def _written(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond // 1000:03}"
