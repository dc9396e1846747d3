"""A driver that archives, compacts or replays, and is killed.

``python -m tests.pipeline.killed JOB POINT URL LAKE``

At the point the driver, its JVM and all of their Python processes get SIGKILL.
"""

from __future__ import annotations

import sys
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rowmq.pipeline import session
from rowmq.pipeline.lake import archive, replay, replaying, upkeep
from rowmq.pipeline.lake.folder import Lake
from rowmq.pipeline.lake.manifest import Batches
from tests.pipeline.doomed import die
from tests.pipeline.quick import QUICK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

ARCHIVE_POINTS = (
    "planned", "writing", "written", "placing", "placed", "verified", "told", "pruning", "pruned",
    "finishing", "finished",
)  # fmt: skip
COMPACT_POINTS = ("written", "placing", "told", "forgetting", "finishing")
REPLAY_POINTS = ("begun", "pushed", "noted")
TTL = timedelta(seconds=1)
CHUNK = 100
AGAIN = replay.Again(queue="jobs", to="again")


def put(owner: Any, name: str, function: Any) -> None:
    """Have this done instead, in this process, which is about to die."""
    setattr(owner, name, function)


def after(owner: Any, name: str) -> None:
    """Die once this function or method has done its work."""
    original: Callable[..., Any] = getattr(owner, name)

    def deadly(*arguments: Any, **options: Any) -> None:
        original(*arguments, **options)
        die()

    put(owner, name, deadly)


def before(owner: Any, name: str) -> None:
    """Die as soon as this function or method is called."""
    put(owner, name, lambda *_, **__: die())


def halve_the_finish() -> None:
    """Die when a batch's manifest says that it is finished, and its plan is still there."""
    finish = Batches.finish

    def halved(batches: Batches, *arguments: Any) -> Any:
        before(Lake, "delete")
        return finish(batches, *arguments)

    put(Batches, "finish", halved)


def watch(lake: str) -> None:
    """Die when the first file that is written aside appears."""

    def look() -> None:
        while not list(Path(lake).glob("_staging/*/**/*.parquet")):
            time.sleep(0.001)
        die()

    threading.Thread(target=look, daemon=True).start()


def doom_archive(point: str, lake: str) -> None:
    archive.CHUNK = CHUNK
    places: dict[str, Callable[[], None]] = {
        "planned": lambda: after(Batches, "plan"),
        "writing": lambda: watch(lake),
        "written": lambda: after(archive, "write_aside"),
        "placing": lambda: after(Lake, "move"),
        "placed": lambda: after(archive, "place"),
        "verified": lambda: after(archive, "verify"),
        "told": lambda: after(Batches, "save"),
        "pruning": lambda: after(archive._Job, "prune_some"),
        "pruned": lambda: before(Batches, "finish"),
        "finishing": halve_the_finish,
        "finished": lambda: after(Batches, "finish"),
    }
    places[point]()


def doom_compact(point: str) -> None:
    places: dict[str, Callable[[], None]] = {
        "written": lambda: after(upkeep, "write_aside"),
        "placing": lambda: after(Lake, "move"),
        "told": lambda: after(Batches, "save"),
        "forgetting": lambda: after(Batches, "forget"),
        "finishing": halve_the_finish,
    }
    places[point]()


def deadly_parts(point: str, *given: Any) -> Iterator[pa.RecordBatch]:
    """Replay on an executor, and die with the first note; there are several, because chunks are small."""
    replaying.CHUNK = CHUNK
    (before if point == "pushed" else after)(replaying, "_write_note")
    return replaying.replay_parts(*given)


def doom_replay(point: str) -> None:
    def parts(*given: Any) -> Iterable[pa.RecordBatch]:
        return deadly_parts(point, *given)

    if point == "begun":
        after(replay, "_note")
    else:
        vars(replay)["replay_parts"] = parts


def main(job: str, point: str, url: str, lake: str) -> None:
    spark = session("local[2]", **QUICK)
    if job == "archive":  # without register(): Spark finds the format by itself
        doom_archive(point, lake)
        archive.archive(spark, url, lake, ttl=TTL)
    elif job == "compact":
        doom_compact(point)
        upkeep.compact(spark, url, lake, ttl=TTL)
    else:
        doom_replay(point)
        replay.replay(spark, url, lake, AGAIN)


if __name__ == "__main__":
    main(*sys.argv[1:])
