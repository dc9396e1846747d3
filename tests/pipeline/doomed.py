"""A Spark driver that kills itself, its JVM and all of their Python processes at a chosen point.

``python -m tests.pipeline.doomed URL FOLDER POINT [MODE]``: the queue ``jobs`` is streamed in batches of 500
through a handler, and what was handled is written to ``FOLDER/out.txt``, one seq a line. With ``workers`` or
``microbatch`` as POINT the queue is worked on in that mode, and a handler kills everything. With one of them
as MODE the queue ``held`` is worked on beside the stream, and a handler of it runs when everything dies.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rowmq
from rowmq.pipeline import handled, session
from rowmq.pipeline.handlers.work import work
from rowmq.pipeline.source import RowMQSource
from rowmq.pipeline.stream.reader import StreamReader
from tests.pipeline.quick import QUICK

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from rowmq.runtime.claimed import ClaimedMessage
    from rowmq.runtime.client import Client

BATCH = 500
HELD = 20
"""Messages of the other queue."""
LEASE = "2"
CLAIMED, HANDLING, SUNK, COMMITTED = "claimed", "handling", "sunk", "committed"
"""After the claim and before the offset log; in a handler; after the sink and before the commit log; after
the commit log and before the ack."""


def die() -> None:
    """Kill everything in this process's session, and this process last."""
    mine = os.getpid()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != mine and in_session(int(entry.name), os.getsid(0)):
            with suppress(ProcessLookupError):  # others may be at it too
                os.kill(int(entry.name), signal.SIGKILL)
    os.kill(mine, signal.SIGKILL)


def in_session(process: int, leader: int) -> bool:
    try:
        return os.getsid(process) == leader
    except ProcessLookupError:
        return False


def stream(
    spark: SparkSession, url: str, folder: Path, handler: Callable[[ClaimedMessage], Any], point: str = ""
) -> None:
    """Stream what is there through the handler into the file, and die at the point."""

    def sink(batch: DataFrame, _number: int) -> None:
        seqs = [row.seq for row in batch.collect()]
        with (folder / "out.txt").open("a") as out:
            out.writelines(f"{seq}\n" for seq in seqs)
        if point == SUNK:
            die()

    options = {"url": url, "queue": "jobs", "maxRowsPerTrigger": str(BATCH), "lease": LEASE}
    messages = spark.readStream.format("rowmq").options(**options).load()
    written = handled(messages, handler, url=url).writeStream.foreachBatch(sink)
    query = (
        written.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    )
    query.awaitTermination()


def working(url: str, handler: Callable[[ClaimedMessage], Any], queue: str = "jobs") -> Callable[[], Client]:
    """What makes a client with this handler."""

    def load() -> Client:
        mq = rowmq.connect(url)
        mq.handler(queue)(handler)
        return mq

    return load


def work_beside(spark: SparkSession, url: str, mode: str, begun: Path) -> None:
    """Work on another queue in a thread, and wait until one of its handlers, which never ends, has begun.

    Before the stream starts: Spark gives up on Python processes that take long, as many at once do.
    """

    def hold(message: ClaimedMessage) -> None:
        if message.payload == HELD // 2:
            begun.touch()
            time.sleep(600)

    load = working(url, hold, "held")
    options: Any = {"mode": mode, "tasks": 1, "concurrency": 1}
    working_on = threading.Thread(target=work, args=(spark, load(), load), kwargs=options, daemon=True)
    working_on.start()
    while working_on.is_alive() and not begun.exists():
        time.sleep(0.05)


def main(url: str, folder: str, point: str, mode: str = "") -> None:
    class Reader(StreamReader):
        def latestOffset(self, start: Any, limit: Any) -> Any:  # noqa: N802
            if point == COMMITTED and start["n"]:
                die()
            end = super().latestOffset(start, limit)
            if point == CLAIMED:
                die()
            return end

    class Source(RowMQSource):
        def streamReader(self, schema: Any) -> Any:  # noqa: N802
            return Reader(self.options, schema)

    def handle(message: ClaimedMessage) -> None:
        if point in (HANDLING, "workers", "microbatch") and message.payload == BATCH - 1:
            die()

    spark = session("local[2]", **QUICK)
    spark.dataSource.register(Source)
    if point in ("workers", "microbatch"):
        load = working(url, handle)
        work(spark, load(), load, mode=point, tasks=2, stop_when_empty=True)  # type: ignore[arg-type]
    if mode:
        work_beside(spark, url, mode, Path(folder) / "held")
    stream(spark, url, Path(folder), handle, point)


if __name__ == "__main__":
    main(*sys.argv[1:])
