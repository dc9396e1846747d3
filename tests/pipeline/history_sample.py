"""A store with a past: messages that were pushed, tried, retried and finished over many hours."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

from rowmq.core.delivery import Delivery, Settlement, Want
from rowmq.core.message import Batch, Message
from rowmq.core.outcome import ACK, Bury, Outcome, Reason, Retry
from rowmq.core.store import Store

START = datetime(2026, 5, 1, 9, 17, tzinfo=UTC)
QUEUES = ("emails", "images", "<b>bold</b>")
LANGUAGES = ("en", "de", "<script>")
ERRORS = (
    "TimeoutError: no answer from 10.0.0.{n} after {n} s",
    'Traceback (most recent call last):\n  File "a.py", line {n}, in f\n    call()\nos.Gone: {n} of them\n',
    "ValueError: order 018f3a1c-7b2e-7cc3-98c4-dc0c0c07398{d} is   unknown",
    "<script>alert({n})</script>",
)


def history(store: Store, hours: int = 12, seed: int = 7) -> None:
    """Give the store a past of so many hours, the same for the same seed."""
    chance = random.Random(seed)  # noqa: S311 - a sample
    for queue in QUEUES:
        store.queues.put(queue, {"max_attempts": 3, "retention": None})
    for minute in range(0, hours * 60, 20):
        now = START + timedelta(minutes=minute)
        for queue in QUEUES:
            store.push([Batch(queue, list(_messages(chance, now)))], now=now)
            _work(store, queue, chance, now + timedelta(minutes=chance.randint(1, 15)))


def _messages(chance: random.Random, now: datetime) -> Iterator[Message]:
    for _ in range(chance.randint(0, 8)):
        delay = timedelta(minutes=30) if chance.random() < 0.2 else None
        metadata = {"lang": chance.choice(LANGUAGES)} if chance.random() < 0.8 else {}
        id = UUID(int=chance.getrandbits(128), version=4)
        yield Message(id=id, body=b'{"to": "<i>ada</i>"}', metadata=metadata, delay=delay)


def _work(store: Store, queue: str, chance: random.Random, now: datetime) -> None:
    want = Want(limit=6, lease=timedelta(hours=9), consumer=f"worker-{chance.randint(1, 3)}", share=False)
    for delivery in store.claim(queue, [want], now=now)[0]:
        if chance.random() < 0.05:
            continue  # held to the end
        ended = now + timedelta(milliseconds=chance.randint(1, 90_000))
        store.settle([Settlement(delivery.receipt, _outcome(delivery, chance))], now=ended)


def _outcome(delivery: Delivery, chance: random.Random) -> Outcome:
    error = chance.choice(ERRORS).format(n=chance.randint(1, 99), d=chance.randint(0, 9))
    if chance.random() < 0.3:
        delay = timedelta(minutes=chance.randint(0, 60))
        return Retry(delay=delay, error=error)
    return Bury(reason=Reason.KILLED, error=error) if chance.random() < 0.05 else ACK
