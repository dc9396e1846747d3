"""Words for tests of transactions that meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rowmq.core.delivery import Settlement, Want
from rowmq.core.message import Batch
from rowmq.core.outcome import ACK, Settled
from rowmq.stores import open_store
from rowmq.testing.build import messages

if TYPE_CHECKING:
    from rowmq.core.delivery import Delivery
    from rowmq.stores.sql.store import SQLStore


def opened(url: str) -> SQLStore:
    store: SQLStore = open_store(url)  # type: ignore[assignment]
    store.queues.put("q")
    return store


def held(store: SQLStore, count: int, **options: Any) -> list[Delivery]:
    """Push and claim messages, in order of seq."""
    store.push([Batch("q", messages(count, **options))])
    return sorted(store.claim("q", [Want(limit=count)])[0], key=lambda each: each.receipt.seq)


def ack(store: SQLStore, *deliveries: Delivery, tx: object = None) -> list[Settled]:
    return store.settle([Settlement(each.receipt, ACK) for each in deliveries], tx=tx)
