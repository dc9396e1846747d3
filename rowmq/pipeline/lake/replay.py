"""Replaying: a slice of the archive goes back into a queue, each message once however often it is run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - Spark's own documentation calls it so

from rowmq.core.errors import InvalidSetting, QueueNotFound
from rowmq.core.names import check_name
from rowmq.core.outcome import State
from rowmq.pipeline.lake.folder import REPLAYS, Lake, folder_name
from rowmq.pipeline.lake.frames import archived
from rowmq.pipeline.lake.manifest import Batches, Manifest, Part
from rowmq.pipeline.lake.replaying import COUNTS, replay_parts
from rowmq.pipeline.opening import absolute, store_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTS = "path string, first_seq long, last_seq long, returned array<long>"


@dataclass(frozen=True, kw_only=True)
class Again:
    """What is replayed: a queue's archived messages, in a state or both, finished in a time; and where to.

    ``name`` tells one replay from another. A message that a replay has pushed is not pushed by it again;
    under another name it is.
    """

    queue: str
    to: str
    state: State | None = None
    since: datetime | None = None
    until: datetime | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        if self.state not in (None, State.DONE, State.DEAD):
            raise InvalidSetting(f"an archived message is done or dead, not {self.state}")
        if self.name is not None:
            check_name(self.name, "replay's name")

    @property
    def id(self) -> str:
        """The replay's name, or one made of what it replays: saying the same again is the same replay."""
        if self.name is not None:
            return self.name
        said = (self.queue, self.to, self.state, self.since, self.until)
        return sha256(repr([str(each) for each in said]).encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """What a run has pushed, had pushed before, and could not push: its payload was not kept."""

    id: str
    pushed: int = 0
    seen: int = 0
    dropped: int = 0


def replay(spark: "SparkSession", url: str, archive: str, again: Again) -> Replayed:
    """Push a slice of the archive into a queue.

    A message gets an id made of the replay's and its old one, which its metadata has as ``rowmq.replay_of``.
    What is pushed is noted in the archive, so a run that was killed is finished by running it again. Raises
    QueueNotFound, and InvalidInput if there is no archive.
    """
    url, lake = absolute(url), Lake(archive)
    lake.check_there()
    if store_at(url).queues.get(again.to) is None:
        raise QueueNotFound(again.to)
    _note(lake, again)
    parts = parts_of(Batches(lake).manifests(), again)
    rows = _run(spark, parts, partial(replay_parts, url, lake.address, again)) if parts else []
    return Replayed(id=again.id, **{name: sum(row[name] for row in rows) for name in COUNTS})


def replayable(spark: "SparkSession", archive: str, again: Again) -> int:
    """How many messages of the archive the slice has, pushed by this replay or not."""
    lake = Lake(archive)
    lake.check_there()
    rows = archived(spark, lake, Batches(lake).manifests()).where(F.col("queue") == again.queue)
    for condition in _conditions(again):
        rows = rows.where(condition)
    return int(rows.count())


def parts_of(manifests: Sequence[Manifest], again: Again) -> list[tuple[Any, ...]]:
    """The files that may have messages of the slice, and which of their messages are the store's again."""
    return [
        (part.path, part.first_seq, part.last_seq, list(each.returned))
        for each in manifests
        for part in each.files
        if _may_have(part, again)
    ]


def _may_have(part: Part, again: Again) -> bool:
    since, until = (None if each is None else _day(each) for each in (again.since, again.until))
    in_time = (since is None or part.day >= since) and (until is None or part.day <= until)
    return in_time and f"/queue={folder_name(again.queue)}/" in part.path


def _day(moment: datetime) -> str:
    return moment.astimezone(UTC).date().isoformat()


def _note(lake: Lake, again: Again) -> None:
    """Write down from where to where it goes; InvalidSetting if its name is another one's.

    Not how the messages ended, nor when: a later run may take more of them, and takes each once.
    """
    path = f"{REPLAYS}/{folder_name(again.id)}/replay.json"
    said = {"queue": again.queue, "to": again.to}
    if not lake.exists(path):
        lake.write(path, said)
    elif lake.read(path) != said:
        raise InvalidSetting(f"the replay {again.id!r} goes from and to other queues; choose another name")


def _run(spark: "SparkSession", parts: Sequence[tuple[Any, ...]], function: Any) -> list[Any]:
    """Each file in a task of its own; what the tasks have counted."""
    frame: DataFrame = spark.createDataFrame(parts, PARTS).repartition(len(parts))
    return frame.mapInArrow(function, ", ".join(f"{name} long" for name in COUNTS)).collect()


def _conditions(again: Again) -> Iterator[Any]:
    if again.state is not None:
        yield F.col("state") == again.state.value
    if again.since is not None:
        yield F.col("finished_at") >= F.lit(again.since)
    if again.until is not None:
        yield F.col("finished_at") < F.lit(again.until)
