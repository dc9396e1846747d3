"""From an executor's rows to messages in the store: staged and committed together, or pushed as they come."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from uuid import NAMESPACE_URL, uuid4, uuid5

from pyspark.sql.datasource import WriterCommitMessage

from rowmq.core.errors import RowMQError, Unsupported
from rowmq.core.message import Batch, Message
from rowmq.core.store import Stages, Store
from rowmq.pipeline.writing.written import Identify, Written

MOST_ROWS = 2_000
"""Messages in a chunk: a push of so many costs hardly more for each than one of more."""
MOST_BYTES = 2 * 2**20
"""Bytes of bodies in a chunk, unless a single body is larger: a chunk is read and sent as a whole."""


@dataclass(frozen=True)
class Staged(WriterCommitMessage):
    """What one task has done: where its rows are, and how many."""

    job: str
    stage: str
    rows: int


@dataclass(frozen=True)
class Target:
    """Where messages go: a queue, or the queues bound to a topic."""

    queue: str | None
    topic: str | None

    def push(self, store: Store, messages: Sequence[Message]) -> None:
        """Push to it at once; raises what it refuses with."""
        if self.topic is not None:
            store.topics.publish(self.topic, messages)
            return
        (answer,) = store.push([Batch(str(self.queue), messages)])
        if isinstance(answer, RowMQError):
            raise answer


def stages_of(store: Store) -> Stages | None:
    """The store's stages; None if it has no transactions that could commit them."""
    found: Stages | None = getattr(store, "stages", None)
    return found


def transaction(txn: str) -> str:
    """The writer that writes under a ``txnId``."""
    return f"txn/{txn}"


def derived_ids(job: str, partition: int) -> Identify:
    """Ids that are the same whenever the same job writes the same partition."""
    space = uuid5(NAMESPACE_URL, f"rowmq:{job}/{partition}")
    return lambda place: uuid5(space, str(place))


def stage(stages: Stages, job: str, rows: Iterable[Written]) -> Staged:
    """Set a task's rows down."""
    name, count = uuid4().hex, 0
    for part, chunk in enumerate(chunks(rows)):
        pasts = [each.past for each in chunk if each.past is not None]
        stages.put(job, name, part, [each.message for each in chunk], pasts=pasts or None)
        count += len(chunk)
    return Staged(job, name, count)


def push(store: Store, target: Target, job: str, rows: Iterable[Written]) -> Staged:
    """Push a task's rows as they come, for a store that cannot commit them together."""
    count = 0
    for chunk in chunks(rows):
        if any(each.past is not None and each.past.state is not None for each in chunk):
            raise Unsupported("only SQL stores can take in messages that are finished already")
        target.push(store, [each.message for each in chunk])
        count += len(chunk)
    return Staged(job, "", count)


def chunks(rows: Iterable[Written]) -> Iterator[list[Written]]:
    """The rows in chunks of bounded length and size."""
    chunk: list[Written] = []
    size = 0
    for row in rows:
        length = len(row.message.body)
        if chunk and (len(chunk) >= MOST_ROWS or size + length > MOST_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(row)
        size += length
    if chunk:
        yield chunk


def promised(messages: Sequence[Staged | None]) -> dict[str, int]:
    """The stages that hold rows, in the order of their partitions, and how many each holds."""
    return {each.stage: each.rows for each in messages if each is not None and each.rows}


def job_of(messages: Sequence[Staged | None]) -> str | None:
    """The job that tasks have worked on; None if none of them has said."""
    return next((each.job for each in messages if each is not None), None)
