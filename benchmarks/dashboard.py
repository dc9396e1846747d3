"""How long the dashboard's pages take beside millions of messages.

    python -m benchmarks.dashboard [--store sqlite] [--finished 5000000] [--waiting 200000]
        [--failures 60000] [--json]

One queue has all of them, and some dead messages with errors; others have a few each. Each page is asked for
again and again over one connection, as a browser would; the times are the whole answer's, of which the
server's is nearly all, and the first one is told of apart. Ends with 1 if a median is over the target.
"""

from __future__ import annotations

import argparse
import html
import json
import re
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
QUEUE, OTHERS, TIMES, TARGET = "crowded", 20, 15, 300
DEAD = 200
NEXT = re.compile(r'href="([^"]+)" rel="next"')
_FAILURES = "INSERT INTO rowmq_failures (seq, attempt, queue, consumer, started_at, ended_at, error)"


class Page(NamedTuple):
    """One page on one store: milliseconds of the first answer, in the median of the others and at worst."""

    store: str
    page: str
    first: float
    median: float
    worst: float


class Size(NamedTuple):
    """How much there is."""

    finished: int
    waiting: int
    failures: int


def seed(url: str, size: Size) -> str:
    """Fill a store, let some messages die, and return the id of one of these."""
    store = cast("SQLStore", open_store(url))
    for number in range(OTHERS):
        fill(store, f"other {number}", Crowd(finished=500, waiting=50, scheduled=20))
    fill(store, QUEUE, Crowd(finished=size.finished, waiting=size.waiting))
    said = f"'{QUEUE}', NULL, finished_at - 5, finished_at, 'TimeoutError: no answer in 30 s'"
    with store.database.engine.begin() as connection:
        rows = f"SELECT seq, 1, {said} FROM rowmq_outcomes ORDER BY seq DESC LIMIT {size.failures}"
        connection.exec_driver_sql(f"{_FAILURES} {rows}")
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
        "overview of the last day": "/ui?reach=day",
        "queue": queue,
        "queue in the last day": f"{queue}?reach=day",
        **lists,
        "done, in a period": f"{queue}/done?since=3h&until=30m",
        "dead, by metadata": f"{queue}/dead?where=tenant%3Dacme",
        "done, by metadata that none has": f"{queue}/done?where=tenant%3Dnobody",
        "ready, by metadata that none has": f"{queue}/ready?where=tenant%3Dnobody",
        "errors": f"{queue}/failed",
        "errors with a text": f"{queue}/failed?text=order+7",
        "errors with a text that none has": f"{queue}/failed?text=nothing+of+this",
        "message": f"/ui/messages/{id}",
        "a message by its id": f"/ui/messages?id={id}",
        **{name: f"/ui/{name}" for name in ("consumers", "topics", "schedules", "archives", "health")},
    }


def later(http: httpx.Client) -> dict[str, str]:
    """The second pages of the longest lists."""
    found = {}
    for state in ("ready", "done", "failed"):
        following = NEXT.search(http.get(f"/ui/queues/{QUEUE}/{state}").text)
        if following is not None:
            found[f"a later page of {state}"] = html.unescape(following[1])
    return found


def timed(http: httpx.Client, path: str) -> list[float]:
    """Milliseconds of each answer."""
    times = []
    for _ in range(TIMES + 1):
        began = time.perf_counter()
        answer = http.get(path)
        times.append(1000 * (time.perf_counter() - began))
        if answer.status_code != 200:  # noqa: PLR2004 - anything else is no page
            raise RuntimeError(f"{path}: {answer.status_code} {answer.text[:300]}")
    return times


def measure(kind: str, size: Size) -> list[Page]:
    """Every page on one store."""
    with places(kind) as spots, spots.url() as url, tempfile.TemporaryDirectory() as folder:
        print(f"# filling {kind}", file=sys.stderr)
        id = seed(url, size)
        with (
            served("--url", url, folder=Path(folder)) as server,
            httpx.Client(
                base_url=server.url, headers={"accept": "text/html"}, timeout=60, follow_redirects=True
            ) as http,
        ):
            found = {name: timed(http, path) for name, path in pages(id).items()}
            found |= {name: timed(http, path) for name, path in later(http).items()}
    return [_page(kind, name, *times) for name, times in found.items()]


def _page(kind: str, name: str, first: float, *rest: float) -> Page:
    return Page(kind, name, first, statistics.median(rest), max(rest))


def show(found: Sequence[Page]) -> None:
    """Print a table."""
    print("| store | page | first, ms | median, ms | worst, ms |\n|---|---|---:|---:|---:|")
    for each in found:
        mark = "" if each.median < TARGET else " **over**"
        print(
            f"| {each.store} | {each.page} | {each.first:.0f} | {each.median:.0f}{mark} | {each.worst:.0f} |"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and run; 1 if a page takes too long."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--store", choices=KINDS, action="append")
    parser.add_argument("--finished", type=int, default=5_000_000)
    parser.add_argument("--waiting", type=int, default=200_000)
    parser.add_argument("--failures", type=int, default=60_000)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    said: Any = parser.parse_args(arguments)
    size = Size(said.finished, said.waiting, said.failures)
    found = [page for kind in said.store or KINDS for page in measure(kind, size)]
    if said.json:
        print(json.dumps([each._asdict() for each in found], indent=1))
    else:
        show(found)
    return int(any(each.median >= TARGET for each in found))


if __name__ == "__main__":
    sys.exit(main())
