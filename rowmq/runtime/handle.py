"""A queue, and a topic, as a user holds them."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast, overload
from uuid import UUID

from rowmq.core.delivery import Want
from rowmq.core.errors import InvalidSetting, QueueNotFound
from rowmq.core.history import Record, Stats
from rowmq.core.outcome import State
from rowmq.core.queue import Queue
from rowmq.runtime.aio import Aio
from rowmq.runtime.answers import Seconds
from rowmq.runtime.claimed import ClaimedMessage
from rowmq.runtime.consumer import Consumer
from rowmq.runtime.options import (
    Filter,
    PushOptions,
    QueueSettings,
    as_settings,
    as_span,
    as_span_or_none,
    as_where,
    new_message,
    new_messages,
)
from rowmq.runtime.producer import Producer

if TYPE_CHECKING:
    from rowmq.runtime.client import Client

Handler = TypeVar("Handler", bound=Callable[[ClaimedMessage], Any])
POLL = 1.0
"""Seconds between looks while waiting: wake-ups are hints, and the time of delayed messages just comes."""


class QueueHandle:
    """One queue of a client: push to it, claim from it, look after it.

    >>> import rowmq
    >>> mq = rowmq.connect("memory://")
    >>> emails = mq.queue("emails", max_attempts=3, lease=30)
    >>> id = emails.push({"to": "ada@example.com"}, priority=5, metadata={"v": "1"})
    >>> [message] = emails.claim(limit=10)
    >>> message.metadata["v"], emails.stats().leased
    ('1', 1)
    """

    def __init__(self, client: "Client", name: str) -> None:
        self._client = client
        self._store = client.store
        self.name = name

    def __repr__(self) -> str:
        return f"<queue {self.name!r}>"

    @property
    def client(self) -> "Client":
        """The client whose queue it is."""
        return self._client

    @property
    def aio(self) -> Any:
        """The same methods for async code: ``await emails.aio.push(...)``."""
        return Aio(self)

    def settings(self) -> Queue:
        """The queue's settings as they are now."""
        found = self._store.queues.get(self.name)
        if found is None:
            raise QueueNotFound(self.name)
        return found

    def configure(self, **settings: Unpack[QueueSettings]) -> Queue:
        """Change some settings; spans are seconds or timedelta."""
        return self._store.queues.put(self.name, as_settings(settings))

    def push(
        self, payload: Any, *, id: UUID | None = None, tx: object = None, **options: Unpack[PushOptions]
    ) -> UUID:
        """Push one message and return its id.

        ``tx`` is your own SQLAlchemy Session or Connection, or a driver's connection: the message appears
        if that commits. The same ``id`` with the same message again is stored once.
        """
        message = new_message(payload, cast("Mapping[str, Any]", options), id=id)
        return self._client.outgoing.push_messages(self.name, [message], tx=tx)[0]

    def push_many(
        self, payloads: Iterable[Any], *, tx: object = None, **options: Unpack[PushOptions]
    ) -> list[UUID]:
        """Push one message for each payload, all or none, and return their ids in order."""
        return self._client.outgoing.push(self.name, payloads, cast("Mapping[str, Any]", options), tx=tx)

    def claim(
        self,
        limit: int = 1,
        *,
        wait: Seconds = 0,
        lease: Seconds | None = None,
        where: Filter = None,
        max_age: Seconds | None = None,
        consumer: str | None = None,
        per_group: int = 1,
    ) -> list[ClaimedMessage]:
        """Claim up to ``limit`` messages, waiting up to ``wait`` seconds for the first of them."""
        want = Want(
            limit=limit,
            lease=as_span_or_none(lease, "lease"),
            consumer=consumer,
            where=as_where(where),
            max_age=as_span_or_none(max_age, "max_age"),
            per_group=per_group,
        )
        return self.claim_want(want, time.monotonic() + as_span(wait, "wait").total_seconds())

    def claim_want(self, want: Want, until: float) -> list[ClaimedMessage]:
        """Serve one want, waiting for it until that moment of the monotonic clock."""
        while True:
            (found,) = self._store.claim(self.name, [want])
            left = until - time.monotonic()
            if found or left <= 0:
                return [ClaimedMessage(each, self._store, want.lease) for each in found]
            self._store.wait([self.name], timedelta(seconds=min(left, POLL)))

    def producer(
        self,
        batch: int = 1,
        linger: Seconds = 0.05,
        *,
        buffer: int = 10_000,
        retry_for: Seconds | None = None,
        on_error: Callable[[Exception, list[UUID]], None] | None = None,
    ) -> Producer:
        """Gather messages and push them ``batch`` at a time, or what there is after ``linger`` seconds."""
        return Producer(
            self._client.outgoing,
            self.name,
            batch=batch,
            linger=as_span(linger, "linger").total_seconds(),
            buffer=buffer,
            retry_for=None if retry_for is None else as_span(retry_for, "retry_for").total_seconds(),
            on_error=on_error,
        )

    def consumer(
        self,
        batch: int = 10,
        beat: Seconds = 2,
        *,
        check_every: int = 5,
        missed: int = 3,
        name: str | None = None,
        lease: Seconds | None = None,
    ) -> Consumer:
        """Register as a consumer: it beats, knows its place among the others and prefers its own share."""
        return Consumer(
            self,
            self._store,
            batch=batch,
            beat=as_span(beat, "beat"),
            check_every=check_every,
            missed=missed,
            name=name,
            lease=as_span_or_none(lease, "lease"),
        )

    @overload
    def handler(self, function: Handler, /) -> Handler: ...

    @overload
    def handler(
        self, *, concurrency: int | None = ..., timeout: Seconds | None = ...
    ) -> Callable[[Handler], Handler]: ...

    def handler(self, *functions: Any, **options: Any) -> Any:
        """Decorate the function that handles this queue's messages; see Client.handler."""
        decorate = self._client.handler(self.name, **options)
        return decorate(*functions) if functions else decorate

    def stats(self) -> Stats:
        """Count the messages in each state, and how long the oldest ready one has waited."""
        return self._store.queues.stats(self.name)

    def find(
        self,
        *,
        state: State | str | None = None,
        where: Filter = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
    ) -> Iterator[Record]:
        """Look up messages, finished ones too, in the order they were pushed."""
        return self._client.find(self.name, state=state, where=where, since=since, until=until, limit=limit)

    def redrive(self, *, to: str | None = None, limit: int | None = None) -> int:
        """Give dead and dead-lettered messages another life; how many."""
        return self._store.history.redrive(self.name, to=to, limit=limit)

    def purge(self, *, state: State | str | None = None, before: datetime | None = None) -> int:
        """Delete what still waits, or what is in one state; how many."""
        return self._store.queues.purge(self.name, state=as_state(state), before=before)

    def pause(self) -> None:
        """Let claims find nothing until it is resumed; pushes go on."""
        self.configure(paused=True)

    def resume(self) -> None:
        """Let claims find messages again."""
        self.configure(paused=False)

    def delete(self) -> bool:
        """Delete the queue with everything in it; False if there was none."""
        return self._store.queues.drop(self.name)


class TopicHandle:
    """One topic of a client. A subscription is a queue: claim from it, or give it a handler.

    >>> import rowmq
    >>> mq = rowmq.connect("memory://")
    >>> orders = mq.topic("orders")
    >>> billing, stock = orders.subscribe("billing"), orders.subscribe("stock")
    >>> orders.publish({"order": 7})
    2
    >>> [message] = billing.claim()
    >>> message.payload
    {'order': 7}
    """

    def __init__(self, client: "Client", name: str) -> None:
        self._client = client
        self._topics = client.store.topics
        self.name = name

    def __repr__(self) -> str:
        return f"<topic {self.name!r}>"

    @property
    def aio(self) -> Any:
        """The same methods for async code: ``await orders.aio.publish(...)``."""
        return Aio(self)

    def publish(self, payload: Any, *, tx: object = None, **options: Unpack[PushOptions]) -> int:
        """Push a copy to every bound queue and return how many; with none, it is kept for the first."""
        message = new_message(payload, cast("Mapping[str, Any]", options))
        return self._client.outgoing.publish(self.name, [message], tx=tx)

    def publish_many(
        self, payloads: Iterable[Any], *, tx: object = None, **options: Unpack[PushOptions]
    ) -> int:
        """Publish one message for each payload, all or none."""
        messages = new_messages(payloads, cast("Mapping[str, Any]", options))
        return self._client.outgoing.publish(self.name, messages, tx=tx)

    def subscribe(self, queue: str, **settings: Unpack[QueueSettings]) -> QueueHandle:
        """Bind a queue, which is created if need be, and return it."""
        handle = self._client.queue(queue, **settings)
        self._topics.bind(self.name, queue)
        return handle

    def unsubscribe(self, queue: str) -> bool:
        """Unbind a queue, leaving it and its messages; False if it was not bound."""
        return self._topics.unbind(self.name, queue)

    def subscriptions(self) -> list[str]:
        """The bound queues, by name."""
        return [queue for _, queue in self._topics.bindings(self.name)]


def as_state(state: State | str | None) -> State | None:
    """A state by its name."""
    try:
        return None if state is None else State(state)
    except ValueError:
        raise InvalidSetting(f"a state is one of {', '.join(State)}, not {state!r}") from None
