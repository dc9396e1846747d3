"""A producer that gathers messages and pushes them together."""

import atexit
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, Unpack, cast
from uuid import UUID

from rowmq.core.errors import InvalidSetting, OutcomeUnknown, RowMQError, StoreUnavailable
from rowmq.core.message import Message
from rowmq.runtime.options import PushOptions, new_message
from rowmq.runtime.outgoing import Outgoing

LONGEST_PAUSE = 2.0
LAST_CALL = 10.0
"""Seconds that a producer nobody closed has at the interpreter's exit."""
ErrorCallback = Callable[[Exception, list[UUID]], None]


class Producer:
    """Pushes ``batch`` messages at a time, or what there is ``linger`` seconds after the first of them.

    With a batch of 1, the default, each push is its own and raises what the store says. Otherwise
    ``push`` puts the message in a buffer and returns its id; a full buffer makes it wait. While the store
    is away the same messages are tried again, under the same ids, for ``retry_for`` seconds (None: until
    it is back). What the store refuses for good goes to ``on_error``, or is raised by the next push,
    flush or close. Close, or leave the with block, and everything has been pushed.

    >>> import rowmq
    >>> mq = rowmq.connect("memory://")
    >>> emails = mq.queue("emails")
    >>> with emails.producer(batch=100) as producer:
    ...     for number in range(250):
    ...         id = producer.push({"number": number})
    >>> emails.stats().ready
    250
    """

    def __init__(
        self,
        outgoing: Outgoing,
        queue: str,
        *,
        batch: int,
        linger: float,
        buffer: int,
        retry_for: float | None,
        on_error: ErrorCallback | None,
    ) -> None:
        if batch < 1 or buffer < batch or linger < 0:
            raise InvalidSetting(
                "a producer needs batch >= 1, buffer >= batch and linger >= 0,"
                f" not batch={batch}, buffer={buffer}, linger={linger}"
            )
        self._outgoing, self._queue = outgoing, queue
        self._batch, self._linger, self._buffer = batch, linger, buffer
        self._retry_for, self._on_error = retry_for, on_error
        self._waiting: deque[Message] = deque()
        self._first_at = 0.0
        self._changed = threading.Condition()
        self._closed = False
        self._flushing = self._sending = 0
        self._errors: list[Exception] = []
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def push(self, payload: Any, *, id: UUID | None = None, **options: Unpack[PushOptions]) -> UUID:
        """Push a message, now or with others, and return its id."""
        made = new_message(payload, cast("Mapping[str, Any]", options), id=id)
        (message,) = self._outgoing.seen(self._queue, [made])  # here, where the caller's trace is known
        if self._batch == 1:
            self._check_open()
            return self._push([message])[0]
        with self._changed:
            self._check_open()
            self._raise_errors()
            self._changed.wait_for(lambda: len(self._waiting) < self._buffer or self._closed)
            self._check_open()
            self._add(message)
        return message.id

    def flush(self, timeout: float | None = None) -> None:
        """Wait until everything pushed so far is in the store; raises what was refused."""
        with self._changed:
            self._flushing += 1
            self._changed.notify_all()
            done = self._changed.wait_for(lambda: not self._waiting and not self._sending, timeout)
            self._flushing -= 1
            self._raise_errors()
            if not done:
                left = len(self._waiting) + self._sending
                raise StoreUnavailable(
                    f"{left} messages are still waiting for the store after {timeout} seconds"
                )

    def close(self, timeout: float | None = None) -> None:
        """Push what is left and stop. The error says how many messages a ``timeout`` left behind."""
        atexit.unregister(self._leave)
        try:
            self.flush(timeout)
        finally:
            with self._changed:
                self._closed = True
                self._changed.notify_all()
            if self._thread is not None:
                self._thread.join(timeout)

    def _leave(self) -> None:
        """Push what is left of a producer that nobody has closed, before the interpreter goes."""
        self.close(LAST_CALL)

    def _add(self, message: Message) -> None:
        if not self._waiting:
            self._first_at = time.monotonic()
        self._waiting.append(message)
        if self._thread is None or not self._thread.is_alive():  # a fork leaves the thread to the parent
            self._sending = 0
            self._thread = threading.Thread(target=self._run, name="rowmq-producer", daemon=True)
            self._thread.start()
            atexit.register(self._leave)
        if len(self._waiting) in (1, self._batch):  # when the sender's plans change
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                batch = self._next_batch()
                if not batch:
                    return
                self._sending = len(batch)
            try:
                self._push(batch)
            except Exception as error:  # noqa: BLE001 - whatever it is, somebody must hear of it
                self._report(error, [each.id for each in batch])
            with self._changed:
                self._sending = 0
                self._changed.notify_all()

    def _next_batch(self) -> list[Message]:
        """Wait for a full batch, or for its time, or for the end."""
        while not self._ready():
            if self._closed and not self._waiting:
                return []
            left = self._first_at + self._linger - time.monotonic() if self._waiting else None
            self._changed.wait(left)
        count = min(self._batch, len(self._waiting))
        batch = [self._waiting.popleft() for _ in range(count)]
        self._first_at = time.monotonic()
        self._changed.notify_all()
        return batch

    def _ready(self) -> bool:
        if not self._waiting:
            return False
        late = time.monotonic() >= self._first_at + self._linger
        return late or self._flushing > 0 or self._closed or len(self._waiting) >= self._batch

    def _push(self, messages: list[Message]) -> list[UUID]:
        """Push, again and again while the store is away: the ids make a repetition harmless."""
        pause, end = 0.05, None if self._retry_for is None else time.monotonic() + self._retry_for
        while True:
            try:
                return self._outgoing.send(self._queue, messages)
            except (StoreUnavailable, OutcomeUnknown):
                if self._closed or (end is not None and time.monotonic() + pause > end):
                    raise
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _report(self, error: Exception, ids: list[UUID]) -> None:
        error.add_note(f"{len(ids)} messages were not pushed: {', '.join(map(str, ids[:10]))} ...")
        if self._on_error is None:
            self._errors.append(error)
            return
        try:
            self._on_error(error, ids)
        except Exception as second:  # noqa: BLE001 - a callback must not end the sending
            self._errors += [error, second]

    def _raise_errors(self) -> None:
        if self._errors:
            raise self._errors.pop(0)

    def _check_open(self) -> None:
        if self._closed:
            raise RowMQError("this producer is closed; make a new one")
