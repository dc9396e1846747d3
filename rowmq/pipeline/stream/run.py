"""The driver's side of a stream: which batch it holds, and when that is proven to be done.

An offset is a batch: ``{"q": the query, "n": its number}``. Spark asks for what comes after ``start`` only
when the batch that ends at ``start`` is in its commit log, so that question is the proof on which the batch
is acked. Spark's own word for it, ``commit``, comes a batch later, and for the last batch never.
"""

from typing import TypedDict
from uuid import uuid4

from rowmq.core.errors import InvalidSetting
from rowmq.core.store import Store
from rowmq.pipeline.stream.batches import Batch, Batches
from rowmq.pipeline.stream.heartbeat import Heartbeat
from rowmq.pipeline.stream.options import StreamOptions
from rowmq.pipeline.stream.pace import Pace

FAILED = "the batch of this message has failed {runs} times, at last alone; the query's own error says why"


class Offset(TypedDict):
    """How far a query has come."""

    q: str
    n: int


class StreamRun:
    """One query, from its start or restart to its end, in the driver's process."""

    def __init__(self, store: Store, options: StreamOptions) -> None:
        self._store, self._options = store, options
        self._queue = _opened(store, options)
        self._beat = Heartbeat(store)
        self._pace = Pace(options.max_rows)
        self._first: Offset | None = None
        self._batch: Batch | None = None
        self._acked: Offset | None = None
        self._planned = False
        self._upto: int | None = None

    def first(self) -> Offset:
        """Where a new query starts; Spark asks more than once and must hear the same."""
        if self._first is None:
            self._batches("").settings()
            self._first = {"q": uuid4().hex, "n": 0}
        return self._first

    def stop_at_present(self) -> None:
        """Read only what has been pushed by now."""
        self._upto = self._store.history.bounds()[1]

    def advance(self, start: Offset, limit: int) -> Offset:
        """Ack the batch that ends at ``start``, claim the next one and tell its end; or wait a little."""
        self._finish(start)
        end: Offset = {"q": start["q"], "n": start["n"] + 1}
        size = min(limit, self._pace.size)
        batch = self._batches(end["q"]).take(_name(end), size, upto=self._upto)
        if batch is None:
            self._wait()
            return start
        self._hold(batch)
        return end

    def plan(self, end: Offset) -> Batch | None:
        """The batch that ends there: the one just claimed, or what is left of one begun before."""
        if self._batch is None or self._batch.claim.name != _name(end):
            self._hold(self._again(end))
        elif self._planned:  # the same batch once more, for another action on it
            self._hold(self._batches(end["q"]).adopt(_name(end)))
        batch, self._planned = self._batch, True
        if batch is not None:
            self._batch = batch._replace(deliveries=[])  # they are with the executors now
        return batch

    def _finish(self, start: Offset) -> None:
        if start["n"] == 0 or start == self._acked:
            return
        batches, batch = self._batches(start["q"]), self._batch
        if batch is not None and batch.claim.name == _name(start):
            self._ack(batches, batch)
        else:  # a restart: the run before may have ended before its ack
            left = batches.adopt(_name(start))
            if left is not None and left.deliveries:
                self._ack(batches, left)
        self._acked, self._batch = start, None

    def _ack(self, batches: Batches, batch: Batch) -> None:
        batches.finish(
            batch.claim
        )  # lost is no news: all of it may have failed and been settled by executors
        self._beat.drop()
        self._pace.faster()

    def _again(self, end: Offset) -> Batch | None:
        """A batch that was begun before: all of it, or less each time if it goes on failing."""
        batches = self._batches(end["q"])
        batch = batches.adopt(_name(end))
        if batch is None or batch.runs <= self._options.max_runs:
            return batch
        count = len(batch.deliveries)
        if count == 1:
            batches.fail(batch, FAILED.format(runs=batch.runs))
            return batch._replace(deliveries=[])
        smaller = max(1, count >> (batch.runs - self._options.max_runs))
        self._pace.slow_to(smaller)
        return batches.keep(batch, smaller)

    def _hold(self, batch: Batch | None) -> None:
        self._batch, self._planned = batch, False
        if batch is not None:
            self._beat.hold(batch.claim, batch.queue.lease)

    def _wait(self) -> None:
        if self._upto is None:
            self._store.wait([self._queue], self._options.poll)

    def _batches(self, query: str) -> Batches:
        options = self._options
        return Batches(
            self._store,
            self._queue,
            consumer=f"spark-{query[:12]}",
            lease=options.lease,
            where=options.where,
            max_age=options.max_age,
            per_group=options.per_group,
            largest=options.max_bytes,
        )


def _name(offset: Offset) -> str:
    return f"{offset['q']}/{offset['n']}"


def _opened(store: Store, options: StreamOptions) -> str:
    """The queue to read; a topic's subscription is made if it is not there."""
    if options.source is None:
        raise InvalidSetting(
            'a stream reads one queue: say option("queue", its name), or topic and subscription'
        )
    if options.topic is not None:
        store.queues.put(options.source)
        store.topics.bind(options.topic, options.source)
    return options.source
