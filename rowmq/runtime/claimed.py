"""A message in the hands of whoever claimed it."""

import json
import random
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from rowmq.core.backoff import Backoff
from rowmq.core.delivery import Delivery, Receipt, Settlement
from rowmq.core.errors import InvalidMessage, LeaseLost
from rowmq.core.message import decode, encode
from rowmq.core.outcome import Ack, Bury, Failure, Outcome, Reason, Release, Settled, decide
from rowmq.core.queue import Queue
from rowmq.core.store import Store
from rowmq.runtime.answers import Seconds
from rowmq.runtime.options import as_span

DELIVERED = (
    "queue", "metadata", "attempt", "max_attempts", "last_attempt", "priority", "group", "created_at",
    "deadline", "receives", "source", "body", "binary",
)  # fmt: skip
"""What a claimed message says just as its delivery does."""


_UNREAD = object()


class ClaimedMessage:
    """A claimed message: what it says, and what can be done about it while its lease holds.

    Whatever settles it raises LeaseLost if the message went on without this holder; nothing has
    changed then. ``lost`` turns true as soon as that is known, for handlers that run long.

    >>> import rowmq
    >>> mq = rowmq.connect("memory://")
    >>> emails = mq.queue("emails")
    >>> id = emails.push({"to": "ada@example.com"})
    >>> [message] = emails.claim()
    >>> message.payload, message.attempt, message.id == id
    ({'to': 'ada@example.com'}, 1, True)
    >>> message.ack()
    """

    queue: str
    metadata: dict[str, str]
    attempt: int
    max_attempts: int | None
    last_attempt: bool
    priority: int
    group: str | None
    created_at: datetime
    deadline: datetime | None
    receives: int
    source: str | None
    body: bytes
    binary: bool
    # What is as it is for nearly all is said once for all: thousands of these are made in a second.
    lost: bool = False
    """Whether the message is known to have gone on without this holder."""
    settled: bool = False
    """Whether its holder has settled it himself, maybe in a transaction that is still open."""
    _until: datetime | None = None
    _payload: Any = _UNREAD

    def __init__(self, delivery: Delivery, store: Store, lease: timedelta | None = None) -> None:
        self.delivery = delivery
        self._store = store
        self._lease = lease

    @property
    def lease_until(self) -> datetime:
        """When the lease ends, as last extended."""
        return self._until or self.delivery.lease_until

    def extended(self, until: datetime) -> None:
        """Note that the lease has been extended."""
        self._until = until

    def __repr__(self) -> str:
        return f"<message {self.id} of queue {self.queue!r}, attempt {self.attempt}>"

    @property
    def id(self) -> UUID:
        """The message's id."""
        return self.delivery.id

    @property
    def receipt(self) -> Receipt:
        """What settles or extends it."""
        return self.delivery.receipt

    @property
    def payload(self) -> Any:
        """The payload, decoded. Raises InvalidMessage if the body is not what it claims to be."""
        if self._payload is _UNREAD:
            self.read()
        return self._payload

    def read(self) -> None:
        """Decode the payload and keep it. Raises InvalidMessage if the body is not what it claims to be."""
        delivery = self.delivery
        try:
            self._payload = decode(delivery.body, binary=delivery.binary)
        except (ValueError, RecursionError) as error:
            raise InvalidMessage(f"message {self.id} has a body that is not JSON: {error}") from None

    def ack(self, *, tx: object = None, result: Any = None) -> None:
        """It is done. With ``tx``, your own transaction: it is done if and when that commits."""
        kept = None if result is None else as_result(result)
        self._settle(Ack(result=kept), tx)

    def retry(self, *, after: Seconds | None = None, error: str | None = None, tx: object = None) -> None:
        """It failed: it comes back after so many seconds, or after the queue's backoff."""
        failure = Failure(
            error=error or "the holder asked for a retry",
            after=None if after is None else as_span(after, "after"),
        )
        self._settle(decided(self.delivery, failure, self._backoff()), tx)

    def kill(self, reason: str = "the holder gave up", *, tx: object = None) -> None:
        """It is dead, or goes to the dead-letter queue; the reason is kept as its error."""
        self._settle(Bury(reason=Reason.KILLED, error=reason), tx)

    def refuse(self, error: str, *, tx: object = None) -> None:
        """It cannot be understood: it is dead, or goes to the dead-letter queue, as ``invalid``."""
        self._settle(Bury(reason=Reason.INVALID, error=error), tx)

    def release(self, *, after: Seconds = 0, tx: object = None) -> None:
        """It was not tried: it comes back, at once or after so many seconds; the attempt does not count."""
        self._settle(Release(delay=as_span(after, "after")), tx)

    def extend(self, lease: Seconds | None = None) -> datetime:
        """Keep it for that long from now (as long as it was claimed for), and return when that ends."""
        length = self._length() if lease is None else as_span(lease, "lease")
        (until,) = self._store.extend([self.receipt], length)
        if until is None:
            raise self._gone()
        self._until = until
        return until

    def _settle(self, outcome: Outcome, tx: object) -> None:
        self.settled = True  # before the call: nobody may extend what a transaction is about to lock
        (answer,) = self._store.settle([Settlement(self.receipt, outcome)], tx=tx)
        if answer == Settled.LOST:
            raise self._gone()

    def _gone(self) -> LeaseLost:
        self.lost = True
        return LeaseLost(f"message {self.id} went on without this holder: its lease ended or it was settled")

    def _queue(self) -> Queue:
        return self._store.queues.get(self.queue) or Queue(name=self.queue)

    def _backoff(self) -> Backoff:
        return self._queue().backoff

    def _length(self) -> timedelta:
        return self._lease or self._queue().lease


def _delegated(name: str) -> property:
    return property(lambda self: getattr(self.delivery, name), doc=f"The delivery's ``{name}``.")


for _name in DELIVERED:
    setattr(ClaimedMessage, _name, _delegated(_name))


def as_result(value: Any) -> bytes:
    """A result as JSON text; anything but a JSON value raises InvalidMessage."""
    body, binary = encode(value)
    if binary:
        raise InvalidMessage("a result is a JSON value, not bytes")
    return body


def result_of(kept: bytes | None) -> Any:
    """The value that was kept as a result."""
    return None if kept is None else json.loads(kept)


def decided(delivery: Delivery, failure: Failure, backoff: Backoff) -> Outcome:
    """What becomes of a message that failed, with the chance that spreads retries out."""
    return decide(
        delivery.attempt,
        failure,
        max_attempts=delivery.max_attempts,
        backoff=backoff,
        draw=random.random(),  # noqa: S311 - it only spreads retries
    )
