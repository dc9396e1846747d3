"""Clearing up: what no caller has come to do."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from itertools import islice

from rowmq.core.clock import span
from rowmq.core.history import Swept
from rowmq.core.outcome import VANISHED, Reason, State, overdue
from rowmq.core.queue import Archive, Queue
from rowmq.core.store import CLAIMS_KEPT, IDS_KEPT
from rowmq.stores.memory.row import Finished, Pending
from rowmq.stores.memory.tables import Tables
from rowmq.stores.memory.topics import forget_late


def sweep(tables: Tables, limit: int, now: int) -> Swept:
    """Bury, prune and forget, each up to a limit."""
    buried = _bury(tables, limit, now)
    pruned = _prune(tables, limit, now)
    forgotten = _forget(tables, limit, now)
    for topic in tables.topics.values():
        forget_late(tables, topic, now)
    return Swept(buried, pruned, forgotten, more=limit in (buried, pruned, forgotten))


def _bury(tables: Tables, limit: int, now: int) -> int:
    dooms = [(row, _doom(row, tables.queues[row.queue], now)) for row in tables.pending.values()]
    doomed = [(row, reason) for row, reason in dooms if reason is not None][:limit]
    for row, _ in doomed:  # before any burial: the next of a group gets a new time when its head goes
        if row.token is not None:
            tables.fail(row, VANISHED, row.time)
    for row, reason in doomed:
        tables.bury(row, reason, now)
    return len(doomed)


def _doom(row: Pending, queue: Queue, now: int) -> Reason | None:
    """Why a row must be buried. Only what is expired need not wait for its time, and a live lease is safe."""
    if row.state(now) == State.LEASED:
        return None
    reason = overdue(row.owed, queue, now)
    return reason if reason == Reason.EXPIRED or row.due(now) else None


def _prune(tables: Tables, limit: int, now: int) -> int:
    past = (seq for seq, row in sorted(tables.finished.items()) if _past(row, tables.queues[row.queue], now))
    return tables.erase(list(islice(past, limit)), "retention", now)


def _past(row: Finished, queue: Queue, now: int) -> bool:
    """Whether a finished message need not be kept any longer."""
    if queue.retention is None or (queue.archive == Archive.REQUIRED and not row.archived):
        return False
    kept = IDS_KEPT if queue.retention == timedelta(0) else queue.retention
    return row.finished_at <= now - span(kept)


def _forget(tables: Tables, limit: int, now: int) -> int:
    forgetting = list(islice(_past_their_time(tables, now), limit))
    for forget in forgetting:
        forget()
    return len(forgetting)


def _past_their_time(tables: Tables, now: int) -> Iterator[Callable[[], object]]:
    """How to forget each dedup key, named claim, consumer and lead whose time is over."""
    for key, known in tables.dedup.items():
        if known.expires_at <= now:
            yield partial(tables.dedup.pop, key)
    for name, claim in tables.claims.items():
        if claim.created_at <= now - span(CLAIMS_KEPT):
            yield partial(tables.claims.pop, name)
    for place, member in tables.consumers.items():
        if member.alive_until <= now:
            yield partial(tables.consumers.pop, place)
    for role, lead in tables.leads.items():
        if lead.until <= now:
            yield partial(tables.leads.pop, role)
