"""One short word for each thing a test does to a store, at moments that the test chooses."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from rowmq.core.delivery import Adopted, Claim, Delivery, Receipt, Settlement, Want
from rowmq.core.errors import RowMQError
from rowmq.core.history import Record, Schedule
from rowmq.core.message import Batch, Message, Pushed, encode
from rowmq.core.outcome import ACK, Bury, Outcome, Settled
from rowmq.core.queue import Queue
from rowmq.core.store import Store

T0 = datetime(2026, 1, 1, tzinfo=UTC)
"""When a test begins."""
FOREVER = timedelta(days=3650)


def after(seconds: float) -> datetime:
    """Return the moment that long after the test began."""
    return T0 + timedelta(seconds=seconds)


def span(seconds: float) -> timedelta:
    """Return a length of time."""
    return timedelta(seconds=seconds)


def message(payload: Any = None, **options: Any) -> Message:
    """Make a message with an id of its own, unless one is given."""
    body, binary = encode(payload)
    return Message(**{"id": uuid4(), "body": body, "binary": binary, **options})


def messages(count: int, **options: Any) -> list[Message]:
    """Make messages whose payloads count from 0."""
    return [message(number, **options) for number in range(count)]


def put_queue(store: Store, name: str = "q", *, now: datetime = T0, **changes: Any) -> Queue:
    """Create or change a queue."""
    return store.queues.put(name, changes, now=now)


def push(store: Store, *given: Message, queue: str = "q", now: datetime = T0) -> Pushed:
    """Push one batch that must count."""
    answer = store.push([Batch(queue, given)], now=now)[0]
    assert isinstance(answer, Pushed), answer
    return answer


def refusal(store: Store, *given: Message, queue: str = "q", now: datetime = T0) -> RowMQError:
    """Push one batch that must be refused, and return the error."""
    answer = store.push([Batch(queue, given)], now=now)[0]
    assert isinstance(answer, RowMQError), answer
    return answer


def claim(
    store: Store, limit: int = 1, *, queue: str = "q", now: datetime = T0, **options: Any
) -> list[Delivery]:
    """Claim with one want."""
    return store.claim(queue, [Want(limit=limit, **options)], now=now)[0]


def claim_one(store: Store, *, queue: str = "q", now: datetime = T0, **options: Any) -> Delivery:
    """Claim one message that must be there."""
    (delivery,) = claim(store, queue=queue, now=now, **options)
    return delivery


def settle(
    store: Store, held: Delivery | Receipt | Claim, outcome: Outcome = ACK, *, now: datetime = T0
) -> Settled:
    """Settle one delivery, receipt or named claim."""
    return store.settle([Settlement(receipt_of(held), outcome)], now=now)[0]


def extend(
    store: Store, held: Delivery | Receipt | Claim, lease: timedelta, *, now: datetime = T0
) -> datetime | None:
    """Extend one delivery, receipt or named claim."""
    return store.extend([receipt_of(held)], lease, now=now)[0]


def adopt(store: Store, name: str, *, lease: timedelta | None = None, now: datetime = T0) -> Adopted:
    """Adopt a named claim that must be known."""
    adopted = store.adopt(name, lease=lease, now=now)
    assert adopted is not None
    return adopted


def receipt_of(held: Delivery | Receipt | Claim) -> Receipt | Claim:
    """Return what proves the hold on it."""
    return held.receipt if isinstance(held, Delivery) else held


def dead_message(store: Store, *, queue: str = "q", now: datetime = T0, **options: Any) -> UUID:
    """Push a message and bury it at its first attempt; return its id."""
    pushed = push(store, message(**options), queue=queue, now=now)
    delivery = claim_one(store, queue=queue, now=now, upto=pushed.seqs[0])
    assert delivery.id == pushed.ids[0]
    assert settle(store, delivery, Bury(), now=now) is Settled.SETTLED
    return delivery.id


def done_message(store: Store, *, queue: str = "q", now: datetime = T0, **options: Any) -> UUID:
    """Push a message and ack it at its first attempt; return its id."""
    pushed = push(store, message(**options), queue=queue, now=now)
    delivery = claim_one(store, queue=queue, now=now, upto=pushed.seqs[0])
    assert delivery.id == pushed.ids[0]
    assert settle(store, delivery, now=now) is Settled.SETTLED
    return delivery.id


def schedule(name: str = "hourly", *, queue: str = "q", **options: Any) -> Schedule:
    """Make a schedule whose next tick is the beginning."""
    return Schedule(
        **{"name": name, "queue": queue, "spec": "0 * * * *", "message": message(), "next_at": T0, **options}
    )


def record(store: Store, id: UUID, *, now: datetime = T0) -> Record:
    """Look up a message that must be there."""
    found = store.history.get(id, now=now)
    assert found is not None, f"{id} is not stored"
    return found


def ids(found: Iterable[Message | Delivery | Record]) -> list[UUID]:
    """Return the ids, in order."""
    return [each.id for each in found]


def payloads(found: Iterable[Delivery | Record]) -> list[Any]:
    """Return the payloads, in order."""
    return [each.payload for each in found]


def everything(store: Store, queue: str | None = None, *, now: datetime = T0, **options: Any) -> list[Record]:
    """Find all messages, in one page."""
    return list(store.history.find(queue, limit=10_000, now=now, **options).records)


def states(store: Store, queue: str = "q", *, now: datetime = T0) -> dict[str, int]:
    """Count a queue's messages by state, leaving out the states that have none."""
    stats = store.queues.stats(queue, now=now)._asdict()
    return {state: count for state, count in stats.items() if state != "oldest_age" and count}
