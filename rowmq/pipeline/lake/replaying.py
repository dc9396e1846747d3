"""Replaying on an executor: the rows of a file become messages, are pushed, and are noted as pushed."""

import base64
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4, uuid5

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rowmq.core.errors import RowMQError
from rowmq.core.message import Batch, Message
from rowmq.core.store import Store
from rowmq.pipeline.lake.folder import REPLAYS, Lake, folder_name
from rowmq.pipeline.opening import store_at

if TYPE_CHECKING:
    from rowmq.pipeline.lake.replay import Again

SPACE = UUID("8d6f5c1e-6b0c-5c3e-9d5b-0c1f7a2e4b90")
"""Where the ids of replayed messages are made."""
COUNTS = ("pushed", "seen", "dropped")
COLUMNS = ["seq", "id", "queue", "state", "payload", "binary", "metadata", "priority", "group", "finished_at"]
CHUNK = 10_000
"""Messages between two notes of what is pushed: what a crash makes the next run look at again."""
PUSH = 500
"""Messages that are pushed together."""


def replay_parts(
    url: str, archive: str, again: "Again", given: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Replay the files that a task is given; how many messages were pushed, seen and dropped."""
    store, lake = store_at(url), Lake(archive)
    for part in (row for batch in given for row in batch.to_pylist()):
        counts = replay_part(store, lake, again, part)
        yield pa.RecordBatch.from_pylist([dict(zip(COUNTS, counts, strict=True))], _COUNTED)


def replay_part(store: Store, lake: Lake, again: "Again", part: dict[str, Any]) -> tuple[int, int, int]:
    """Replay one file, but what was noted as pushed before."""
    before = _noted(lake, again.id, part["first_seq"], part["last_seq"])
    returned = set(part["returned"])
    pushed = seen = dropped = 0
    with lake.open(part["path"]) as file:
        for batch in pq.ParquetFile(file).iter_batches(batch_size=CHUNK, columns=COLUMNS):
            rows = [row for row in _chosen(batch, again) if row["seq"] not in returned]
            fresh = [row for row in rows if row["seq"] not in before]
            whole = [row for row in fresh if row["payload"] is not None]
            new = _push(store, again, whole)
            _write_note(lake, again.id, [row["seq"] for row in fresh])
            pushed, dropped = pushed + new, dropped + len(fresh) - len(whole)
            seen += len(rows) - len(fresh) + len(whole) - new
    return pushed, seen, dropped


def message_of(row: dict[str, Any], replay: str) -> Message:
    """The message that a row is replayed as: the same for the same replay, so that it can be pushed but once.

    Its dedup key, delay and deadline are not repeated: they were about its first life.
    """
    metadata = {**dict(row["metadata"] or ()), "rowmq.replay_of": row["id"], "rowmq.replay": replay}
    text = row["payload"].encode()
    return Message(
        id=uuid5(SPACE, f"{replay}/{row['id']}"),
        body=base64.b64decode(text) if row["binary"] else text,
        binary=row["binary"],
        metadata=metadata,
        priority=row["priority"],
        group=row["group"],
    )


def _chosen(batch: pa.RecordBatch, again: "Again") -> list[dict[str, Any]]:
    """The rows of the slice; what this replay itself has pushed, and was archived since, is not of it."""
    kept = pc.equal(batch["queue"], again.queue)
    if again.state is not None:
        kept = pc.and_(kept, pc.equal(batch["state"], again.state.value))
    if again.since is not None:
        kept = pc.and_(kept, pc.greater_equal(batch["finished_at"], pa.scalar(again.since)))
    if again.until is not None:
        kept = pc.and_(kept, pc.less(batch["finished_at"], pa.scalar(again.until)))
    rows: list[dict[str, Any]] = batch.filter(kept).to_pylist()
    return [row for row in rows if ("rowmq.replay", again.id) not in (row["metadata"] or ())]


def _push(store: Store, again: "Again", rows: Sequence[dict[str, Any]]) -> int:
    """Push the rows that are not there; how many."""
    new = 0
    for start in range(0, len(rows), PUSH):
        messages = [message_of(row, again.id) for row in rows[start : start + PUSH]]
        (answer,) = store.push([Batch(again.to, messages)])
        if isinstance(answer, RowMQError):
            raise answer
        new += len(messages) - len(answer.seen)
    return new


def _noted(lake: Lake, replay: str, first: int, last: int) -> set[int]:
    """The seqs, in a range, that earlier runs have noted as pushed."""
    found: set[int] = set()
    for each in lake.files(_folder(replay)):
        if each.path.endswith(".parquet"):
            with lake.open(each.path) as file:
                seqs = pq.read_table(file)["seq"]
            within = pc.and_(pc.greater_equal(seqs, first), pc.less_equal(seqs, last))
            found.update(seqs.filter(within).to_pylist())
    return found


def _write_note(lake: Lake, replay: str, seqs: Sequence[int]) -> None:
    if not seqs:
        return
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"seq": pa.array(seqs, pa.int64())}), sink, compression="zstd")
    lake.write_bytes(f"{_folder(replay)}/{uuid4().hex}.parquet", sink.getvalue().to_pybytes())


def _folder(replay: str) -> str:
    return f"{REPLAYS}/{folder_name(replay)}"


_COUNTED = pa.schema([(name, pa.int64()) for name in COUNTS])
