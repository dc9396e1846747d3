"""Writing in bulk: a DataFrame, or each batch of a stream, is pushed as a whole and once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from uuid import uuid4

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter
from pyspark.sql.types import StructType

from rowmq.core.errors import InvalidSetting, QueueNotFound
from rowmq.core.store import Store
from rowmq.pipeline.opening import store_at
from rowmq.pipeline.options import Option, Place, flag, given, name
from rowmq.pipeline.writing.staging import (
    Staged,
    Target,
    derived_ids,
    job_of,
    promised,
    push,
    stage,
    stages_of,
    transaction,
)
from rowmq.pipeline.writing.written import Rows, Written, check_columns

if TYPE_CHECKING:
    import pyarrow as pa

QUERY, BATCH = "sql.streaming.queryId", "streaming.sql.batchId"
"""What Spark tells a task of the query that it is part of."""


@dataclass(frozen=True, kw_only=True)
class WriteOptions(Place):
    """What a write takes."""

    queue: Annotated[str | None, Option("queue", name)] = None
    topic: Annotated[str | None, Option("topic", name)] = None
    txn_id: Annotated[str | None, Option("txnId", name)] = None
    json: Annotated[bool, Option("json", flag)] = True

    def __post_init__(self) -> None:
        if (self.queue is None) == (self.topic is None):
            raise InvalidSetting('say where messages go: either option("queue", ...) or option("topic", ...)')

    @property
    def target(self) -> Target:
        """The queue or the topic."""
        return Target(self.queue, self.topic)


class Sink:
    """What the two writers share. It is sent from process to process, so it holds values only."""

    def __init__(self, options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> None:
        self._options = given(WriteOptions, options)
        self._schema = schema
        if overwrite:
            raise InvalidSetting(
                'a queue is added to, not overwritten: say mode("append"), or purge the queue before'
            )
        check_columns(schema)
        self._check_queue()

    def _check_queue(self) -> None:
        queue = self._options.queue
        if queue is not None and self._store().queues.get(queue) is None:
            raise QueueNotFound(queue)

    def _store(self) -> Store:
        return store_at(self._options.address())

    def _write(self, job: str, batches: Iterable["pa.RecordBatch"], partition: int) -> Staged:
        """Stage a task's rows, or push them under ids that another try of the task would give them too."""
        store = self._store()
        stages = stages_of(store)
        if stages is not None:
            return stage(stages, job, self._rows(batches, Rows(self._schema, json=self._options.json)))
        origin = job if self._options.txn_id is None else transaction(self._options.txn_id)
        rows = Rows(self._schema, json=self._options.json, identify=derived_ids(origin, partition))
        return push(store, self._options.target, job, self._rows(batches, rows))

    def _rows(self, batches: Iterable["pa.RecordBatch"], rows: Rows) -> Iterator[Written]:
        return (row for batch in batches for row in rows.read(batch))

    def _commit(self, messages: Sequence[Staged | None], *, writer: str, number: int) -> None:
        job, stages = job_of(messages), stages_of(self._store())
        if job is not None and stages is not None:
            to = self._options.target
            known = "id" in self._schema.fieldNames()
            stages.commit(
                job,
                promised(messages),
                writer=writer,
                number=number,
                queue=to.queue,
                topic=to.topic,
                known_ids=known,
            )

    def _abort(self, job: str | None) -> None:
        stages = stages_of(self._store())
        if job is not None and stages is not None:
            stages.drop(job)


class BatchWriter(Sink, DataSourceArrowWriter):
    """Pushes a DataFrame, all of it or nothing; with a ``txnId`` once, however often it is written."""

    def __init__(self, options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> None:
        super().__init__(options, schema, overwrite=overwrite)
        self._job = uuid4().hex

    def write(self, iterator: Iterator["pa.RecordBatch"]) -> Staged:
        """Stage the rows of one task."""
        context = TaskContext.get()
        return self._write(self._job, iterator, context.partitionId() if context else 0)

    def commit(self, messages: Any) -> None:
        """Push what all tasks have staged."""
        txn = self._options.txn_id
        self._commit(messages, writer=f"job/{self._job}" if txn is None else transaction(txn), number=0)

    def abort(self, messages: Any) -> None:  # noqa: ARG002 - the job is known
        """Delete what tasks have staged."""
        self._abort(self._job)


class StreamWriter(Sink, DataSourceStreamArrowWriter):
    """Pushes each batch of a query once, also when Spark runs it again after a restart."""

    def write(self, iterator: Iterator["pa.RecordBatch"]) -> Staged:
        """Stage the rows of one task."""
        context = TaskContext.get()
        job = f"{context.getLocalProperty(QUERY)}/{context.getLocalProperty(BATCH)}"
        return self._write(job, iterator, context.partitionId())

    def commit(self, messages: Any, batchId: int) -> None:  # noqa: N803 - Spark's name
        """Push what all tasks have staged, unless this batch of the query was pushed before."""
        query = (job_of(messages) or "").rpartition("/")[0]
        self._commit(messages, writer=f"query/{query}", number=batchId)

    def abort(self, messages: Any, batchId: int) -> None:  # noqa: N803, ARG002 - Spark's signature
        """Delete what tasks have staged."""
        self._abort(job_of(messages))
