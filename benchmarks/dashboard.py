"""How long the dashboard's pages take beside millions of messages.

    python -m benchmarks.dashboard [--store sqlite] [--finished 5000000] [--waiting 200000] [--json]

One queue has all of them, and some dead messages with errors. Each page is asked for again and again over one
connection, as a browser would; the times are the whole answer's, of which the server's is nearly all.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import httpx

import rowmq
from benchmarks.places import places
from rowmq.core.outcome import State
from rowmq.stores import open_store
from tests.doors.http.serving import served
from tests.stores.crowds import Crowd, fill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowmq.stores.sql.store import SQLStore

KINDS = ("sqlite", "postgres")
QUEUE, TIMES, TARGET = "crowded", 15, 300
DEAD = 200


class Page(NamedTuple):
    """One page on one store: milliseconds in the median and at worst."""

    store: str
    page: str
    median: float
    worst: float


def seed(url: str, finished: int, waiting: int) -> str:
    """Fill a store, let some messages die, and return the id of one of these."""
    store = cast("SQLStore", open_store(url))
    fill(store, QUEUE, Crowd(finished=finished, waiting=waiting))
    if store.database.dialect.package.endswith("postgres"):
        with store.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")
    store.close()
    with rowmq.connect(url) as mq:
        queue = mq.queue(QUEUE, max_attempts=2, retention=None)
        ids = queue.push_many([{"n": n} for n in range(DEAD)], metadata={"tenant": "acme"}, priority=9)
        for _ in range(2):
            for message in queue.claim(limit=DEAD):
                message.retry(error=f"ValueError: order {message.payload['n']} is not known", after=0)
        cast("SQLStore", mq.store).monitor.sample()
    return str(ids[0])


def pages(id: str) -> dict[str, str]:
    """What there is to see."""
    queue = f"/ui/queues/{QUEUE}"
    lists = {f"messages that are {state.value}": f"{queue}/{state.value}" for state in State}
    return {
        "overview": "/ui",
        "queue": queue,
        **lists,
        "dead, by metadata": f"{queue}/dead?where=tenant%3Dacme",
        "done, by metadata that none has": f"{queue}/done?where=tenant%3Dnobody",
        "errors with a text": f"{queue}/failed?text=order+7",
        "message": f"/ui/messages/{id}",
        **{name: f"/ui/{name}" for name in ("consumers", "topics", "schedules", "archives", "health")},
    }


def timed(http: httpx.Client, path: str) -> list[float]:
    """Milliseconds of each answer, after one that does not count."""
    times = []
    for _ in range(TIMES + 1):
        began = time.perf_counter()
        answer = http.get(path)
        times.append(1000 * (time.perf_counter() - began))
        if answer.status_code != 200:  # noqa: PLR2004 - anything else is no page
            raise RuntimeError(f"{path}: {answer.status_code} {answer.text[:300]}")
    return times[1:]


def measure(kind: str, finished: int, waiting: int) -> list[Page]:
    """Every page on one store."""
    with places(kind) as spots, spots.url() as url, tempfile.TemporaryDirectory() as folder:
        print(f"# filling {kind}", file=sys.stderr)
        id = seed(url, finished, waiting)
        with (
            served("--url", url, folder=Path(folder)) as server,
            httpx.Client(base_url=server.url, headers={"accept": "text/html"}, timeout=60) as http,
        ):
            found = {name: timed(http, path) for name, path in pages(id).items()}
    return [Page(kind, name, statistics.median(times), max(times)) for name, times in found.items()]


def show(found: Sequence[Page]) -> None:
    """Print a table."""
    print("| store | page | median, ms | worst, ms |\n|---|---|---:|---:|")
    for each in found:
        mark = "" if each.median < TARGET else " **over**"
        print(f"| {each.store} | {each.page} | {each.median:.0f}{mark} | {each.worst:.0f} |")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--store", choices=KINDS, action="append")
    parser.add_argument("--finished", type=int, default=5_000_000)
    parser.add_argument("--waiting", type=int, default=200_000)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    said: Any = parser.parse_args(arguments)
    found = [page for kind in said.store or KINDS for page in measure(kind, said.finished, said.waiting)]
    if said.json:
        print(json.dumps([each._asdict() for each in found], indent=1))
    else:
        show(found)


if __name__ == "__main__":
    main()
