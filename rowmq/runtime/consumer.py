"""A registered consumer: it beats, knows its place among the others, and prefers its own share."""

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rowmq.core.delivery import Membership, Want
from rowmq.core.errors import InvalidMessage, InvalidSetting, LeaseLost, RowMQError, StoreError
from rowmq.core.store import Store
from rowmq.runtime.answers import Kill, Retry
from rowmq.runtime.claimed import ClaimedMessage
from rowmq.runtime.log import event, logger

if TYPE_CHECKING:
    from rowmq.runtime.handle import QueueHandle


def new_name() -> str:
    """A consumer's name that nobody else has: where it runs, and something of its own."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"


class Consumer:
    """Pops messages of one queue, ``batch`` at a time, its own share of them first.

    It beats every ``beat`` seconds and is forgotten once ``missed`` of them have not come; one that finds
    itself forgotten is registered again by its next beat. ``index`` and ``count`` are its place among
    those alive, read every ``check_every`` beats. The share is a preference: when idle it takes what is
    left of the others'.

    >>> import rowmq
    >>> mq = rowmq.connect("memory://")
    >>> emails = mq.queue("emails")
    >>> ids = emails.push_many(range(3))
    >>> with emails.consumer(batch=2) as consumer:
    ...     print(consumer.index, consumer.count, len(consumer.pop()))
    0 1 2
    """

    def __init__(
        self,
        queue: "QueueHandle",
        store: Store,
        *,
        batch: int,
        beat: timedelta,
        check_every: int,
        missed: int,
        name: str | None,
        lease: timedelta | None,
    ) -> None:
        if beat <= timedelta(0) or check_every < 1 or missed < 1:
            raise InvalidSetting(
                "a consumer needs beat > 0, check_every >= 1 and missed >= 1,"
                f" not beat={beat}, check_every={check_every}, missed={missed}"
            )
        self.name = name or new_name()
        self._queue, self._store = queue, store
        self._want = Want(limit=batch, lease=lease, consumer=self.name)
        self._beat, self._check_every, self._ttl = beat, check_every, beat * missed
        self._stop = threading.Event()
        self._place = self._register()
        self._thread = threading.Thread(target=self._beat_on, name="rowmq-consumer", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[ClaimedMessage]:
        """Messages, one after the other, until the consumer is closed."""
        while not self._stop.is_set():
            yield from self.pop(wait=1.0)

    @property
    def index(self) -> int:
        """This consumer's place, in birth order, among those alive."""
        return self._place.index

    @property
    def count(self) -> int:
        """How many consumers of the queue are alive."""
        return self._place.count

    def pop(self, *, wait: float = 0) -> list[ClaimedMessage]:
        """Claim up to a batch, waiting up to so many seconds for the first message."""
        return self._queue.claim_want(self._want, time.monotonic() + wait)

    def run(self, process: Callable[[Any], Any], *, stop_when_empty: bool = False) -> None:
        """Hand each payload to a function: if it returns the message is done, if it raises it is retried.

        Kill and Retry say something else, as in a handler.
        """
        while not self._stop.is_set():
            try:
                found = self.pop(wait=0 if stop_when_empty else 1.0)
                for message in found:
                    _process(message, process)
            except StoreError as error:
                event(logger, "warning", "consumer.store_away", consumer=self.name, error=str(error))
                self._stop.wait(1.0)
                continue
            if stop_when_empty and not found:
                return

    def close(self) -> None:
        """Stop beating and be forgotten at once; messages still held come back when their leases end."""
        if self._stop.is_set():
            return
        self._stop.set()
        self._thread.join()
        self._store.consumers.retire(self._queue.name, self.name)

    def _register(self) -> Membership:
        return self._store.consumers.beat(self._queue.name, self.name, self._ttl)

    def _beat_on(self) -> None:
        beats = 0
        while not self._stop.wait(self._beat.total_seconds()):
            beats += 1
            try:
                place = self._register()
            except RowMQError as error:  # also QueueNotFound: a queue that was deleted may be made again
                event(logger, "warning", "consumer.beat_failed", consumer=self.name, error=str(error))
                continue
            if place.joined:
                event(logger, "warning", "consumer.registered_again", consumer=self.name)
            if place.joined or beats % self._check_every == 0:
                self._place = place


def _process(message: ClaimedMessage, process: Callable[[Any], Any]) -> None:
    try:
        _settle(message, process)
    except LeaseLost:
        event(logger, "warning", "message.lost", queue=message.queue, id=str(message.id))


def _settle(message: ClaimedMessage, process: Callable[[Any], Any]) -> None:
    try:
        payload = message.payload
    except InvalidMessage as error:
        message.refuse(str(error))
        return
    try:
        process(payload)
    except Kill as error:
        message.kill(str(error) or "the function gave up")
    except Retry as error:
        message.retry(after=error.after, error=str(error))
    except Exception as error:  # noqa: BLE001 - whatever a user's function raises is a failed attempt
        message.retry(error=f"{type(error).__name__}: {error}")
    else:
        message.ack()
