"""The numbers that Prometheus reads, and what reading them costs the store."""

import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from rowmq.core.errors import InvalidSetting, QueueNotFound, StoreUnavailable
from rowmq.core.history import Stats
from rowmq.core.outcome import ACK, Bury, Outcome, Release, Retry, Settled
from rowmq.core.queue import Queue
from rowmq.runtime import depth
from rowmq.runtime.claimed import ClaimedMessage
from rowmq.runtime.client import Client, connect
from rowmq.runtime.depth import DOWN, Depth, StoreClock
from rowmq.runtime.metrics import METRICS, Metrics
from rowmq.stores.memory import MemoryStore
from rowmq.testing import build

EVERY = timedelta(seconds=5)


class Clock:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.moment = 1000.0

    def __call__(self) -> float:
        return self.moment


class WatchedQueues:
    """The store's queues, which also count the looks at them, and may fail or hang."""

    def __init__(self, store: MemoryStore) -> None:
        self._queues = store.queues
        self.scans = 0
        self.error: Exception | None = None
        self.answering = threading.Event()
        self.answering.set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queues, name)

    def list(self) -> list[Queue]:
        self.scans += 1
        self.answering.wait()
        if self.error is not None:
            raise self.error
        return self._queues.list()


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    build.put_queue(store)
    return store


@pytest.fixture
def watched(store: MemoryStore) -> WatchedQueues:
    store.queues = watched = WatchedQueues(store)
    return watched


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def mq() -> Iterator[Client]:
    with connect("memory://") as client:
        yield client


def test_what_is_pushed_and_claimed_is_counted_by_queue() -> None:
    metrics = Metrics(CollectorRegistry())
    messages = build.messages(3)
    metrics.on_pushed("q", messages)
    metrics.on_pushed("topic:orders", messages[:1])
    metrics.on_claim("q", _claimed(2))
    assert _value(metrics, "pushed_total", queue="q") == 3
    assert _value(metrics, "pushed_total", queue="topic:orders") == 1
    assert _value(metrics, "claimed_total", queue="q") == 2


def test_settlements_are_counted_by_outcome_unless_they_were_lost() -> None:
    metrics = Metrics(CollectorRegistry())
    (message,) = _claimed(1)
    answers: list[tuple[Outcome, Settled]] = [
        (ACK, Settled.SETTLED),
        (ACK, Settled.REPEATED),
        (ACK, Settled.LOST),
        (Retry(), Settled.SETTLED),
        (Release(), Settled.SETTLED),
        (Bury(), Settled.SETTLED),
    ]
    metrics.on_settle([(message, outcome, answer) for outcome, answer in answers])
    metrics.on_lost(message)
    counts = {
        outcome: _value(metrics, "settled_total", queue="q", outcome=outcome)
        for outcome in ("ack", "retry", "release", "bury")
    }
    assert counts == {"ack": 2, "retry": 1, "release": 1, "bury": 1}
    assert _value(metrics, "lost_leases_total", queue="q") == 1


def test_a_run_is_measured_also_when_it_fails() -> None:
    metrics = Metrics(CollectorRegistry())
    (message,) = _claimed(1)
    with metrics.around(message):
        pass
    with pytest.raises(ValueError, match="no"), metrics.around(message):
        raise ValueError("no")
    assert _value(metrics, "run_seconds_count", queue="q") == 2


def test_waits_are_measured_by_the_stores_clock_at_first_deliveries_only(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "now", lambda: build.after(40))  # a clock months away from this machine's
    metrics = Metrics(CollectorRegistry(), store=store)
    build.push(store, build.message())
    first = ClaimedMessage(build.claim_one(store), store)
    build.settle(store, first.delivery, Release())
    again = ClaimedMessage(build.claim_one(store), store)
    assert again.attempt == 1
    for message in (first, again):
        metrics.on_claim("q", [message])
        with metrics.around(message):
            pass
    assert _value(metrics, "wait_seconds_count", queue="q") == 1
    assert 40 <= _value(metrics, "wait_seconds_sum", queue="q") < 50


def test_without_a_store_no_wait_is_measured_rather_than_a_wrong_one() -> None:
    metrics = Metrics(CollectorRegistry())
    (message,) = _claimed(1)
    metrics.on_claim("q", [message])
    with metrics.around(message):
        pass
    assert _value(metrics, "wait_seconds_count", queue="q") == 0


def test_the_stores_clock_is_asked_once_a_minute_and_runs_on_while_the_store_is_away(
    store: MemoryStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([build.after(0), build.after(100)])
    monkeypatch.setattr(store, "now", lambda: next(answers))
    there = StoreClock(store, clock)
    assert there.now() is None
    there.ask()
    clock.moment += 59
    there.ask()
    assert there.now() == build.after(59)
    clock.moment += 1
    there.ask()
    assert there.now() == build.after(100)
    store.close()
    monkeypatch.undo()
    clock.moment += 60
    there.ask()
    assert there.now() == build.after(160)


def test_depth_and_age_are_read_from_the_store(store: MemoryStore) -> None:
    metrics = Metrics(CollectorRegistry(), store=store)
    build.done_message(store)
    build.dead_message(store)
    build.push(store, *build.messages(3))
    build.claim_one(store, lease=build.FOREVER)
    build.put_queue(store, "empty")
    depths = {
        state: _value(metrics, "depth", queue="q", state=state) for state in ("ready", "leased", "dead")
    }
    assert depths == {"ready": 2, "leased": 1, "dead": 1}
    assert _value(metrics, "oldest_age_seconds", queue="q") > 0
    assert _value(metrics, "oldest_age_seconds", queue="empty") == 0
    assert _value(metrics, "up") == 1


def test_the_store_is_scanned_once_in_an_interval_whatever_the_scrape_rate(
    store: MemoryStore, watched: WatchedQueues, clock: Clock
) -> None:
    collector = Depth(store, "rowmq", EVERY, clock)
    collector.describe()
    assert watched.scans == 0
    for _ in range(10):
        assert collector.latest().up
    clock.moment += 4.9
    collector.collect()
    assert watched.scans == 1
    clock.moment += 0.1
    collector.collect()
    assert watched.scans == 2


def test_scrapes_at_the_same_moment_share_one_scan(
    store: MemoryStore, watched: WatchedQueues, clock: Clock
) -> None:
    collector, found = Depth(store, "rowmq", EVERY, clock), []
    watched.answering.clear()
    threads = [threading.Thread(target=lambda: found.append(collector.latest())) for _ in range(8)]
    for thread in threads:
        thread.start()
    watched.answering.set()
    for thread in threads:
        thread.join()
    assert watched.scans == 1
    assert [scan.up for scan in found] == [True] * 8


def test_a_store_that_is_down_leaves_the_other_metrics_readable(
    store: MemoryStore, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    metrics = Metrics(CollectorRegistry())
    metrics.registry.register(Depth(store, "rowmq", EVERY, clock))
    metrics.on_pushed("q", build.messages(1))
    assert _value(metrics, "up") == 1
    store.close()
    for _ in range(2):
        clock.moment += 5
        assert _value(metrics, "up") == 0
    assert metrics.registry.get_sample_value("rowmq_depth", {"queue": "q", "state": "ready"}) is None
    assert _value(metrics, "pushed_total", queue="q") == 1
    assert [message.split()[0] for message in caplog.messages] == ["metrics.store_down"]


def test_a_store_that_comes_back_is_up_again(
    store: MemoryStore, watched: WatchedQueues, clock: Clock
) -> None:
    collector = Depth(store, "rowmq", EVERY, clock)
    watched.error = StoreUnavailable("gone fishing")
    assert collector.latest() == DOWN
    watched.error = None
    assert collector.latest() == DOWN
    clock.moment += 5
    assert collector.latest().up


def test_a_store_that_hangs_counts_as_down_once_the_last_scan_is_old(
    store: MemoryStore, watched: WatchedQueues, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(depth, "PATIENCE", 0.01)
    collector = Depth(store, "rowmq", EVERY, clock)
    assert collector.latest().up
    watched.answering.clear()
    clock.moment += 30
    assert collector.latest().up
    clock.moment += 60
    assert collector.latest() == DOWN
    assert watched.scans == 2
    watched.answering.set()


def test_a_slow_scan_is_repeated_later_so_that_scanning_is_a_tenth_of_the_time(
    store: MemoryStore, watched: WatchedQueues, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(name: str) -> Stats:
        clock.moment += 2
        return store.queues._queues.stats(name)  # type: ignore[attr-defined, no-any-return]

    monkeypatch.setattr(watched, "stats", slow, raising=False)
    collector = Depth(store, "rowmq", EVERY, clock)
    collector.latest()
    clock.moment += 17.9
    collector.latest()
    assert watched.scans == 1
    clock.moment += 0.1
    collector.latest()
    assert watched.scans == 2


def test_a_queue_dropped_during_a_scan_is_left_out(
    store: MemoryStore, watched: WatchedQueues, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(name: str) -> Stats:
        raise QueueNotFound(name)

    monkeypatch.setattr(watched, "stats", gone, raising=False)
    scan = Depth(store, "rowmq", EVERY).latest()
    assert scan.up
    assert scan.queues == {}


def test_two_metrics_in_one_registry_are_refused_with_the_way_out() -> None:
    registry = CollectorRegistry()
    Metrics(registry)
    with pytest.raises(InvalidSetting, match="already has a metric rowmq_pushed_total; keep one"):
        Metrics(registry)
    other = Metrics(registry, "other")
    other.on_pushed("q", build.messages(1))
    assert registry.get_sample_value("other_pushed_total", {"queue": "q"}) == 1


def test_a_namespace_that_prometheus_cannot_read_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="letters, digits and _, not 'row mq'"):
        Metrics(CollectorRegistry(), "row mq")


def test_a_port_in_use_is_refused_with_a_clear_word() -> None:
    metrics = Metrics(CollectorRegistry())
    endpoint = metrics.serve(0)
    with pytest.raises(InvalidSetting, match=rf"cannot be served on 127\.0\.0\.1:{endpoint.port}: "):
        metrics.serve(endpoint.port)
    with pytest.raises(InvalidSetting, match="cannot be served on"):
        metrics.serve(70_000)
    endpoint.close()
    metrics.serve(endpoint.port).close()


def test_a_missing_package_is_named_with_its_command_and_needed_by_nobody_else() -> None:
    code = (
        "import sys; sys.modules['prometheus_client'] = sys.modules['opentelemetry'] = None\n"
        "import rowmq.runtime.client, rowmq.runtime.metrics as metrics, rowmq.runtime.tracing as tracing\n"
        "for wanted in metrics.Metrics, tracing.Tracing:\n"
        "    try: wanted()\n"
        "    except ImportError as error: print(error)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.stdout.splitlines() == [
        "metrics need a package that is not installed; run: pip install 'rowmq[metrics]'",
        "tracing needs a package that is not installed; run: pip install 'rowmq[tracing]'",
    ], ran.stderr


def test_from_push_over_worker_to_the_page_that_prometheus_reads(mq: Client) -> None:
    metrics = Metrics(CollectorRegistry(), store=mq.store)
    mq.use(metrics)
    emails = mq.queue("emails", max_attempts=1)

    @emails.handler
    def send(message: ClaimedMessage) -> None:
        if message.payload == "bad":
            raise ValueError("bad address")
        if message.payload == "killed meanwhile":
            mq.amend([message.id], "kill")

    emails.push_many(["good", "good", "bad", "killed meanwhile"])
    mq.worker(stop_when_empty=True).run()
    emails.push("waiting")
    endpoint = metrics.serve(0)
    with urllib.request.urlopen(endpoint.url, timeout=10) as answer:  # noqa: S310 - our own endpoint
        page = answer.read().decode()
    endpoint.close()
    samples = _samples(page)
    assert samples['pushed_total{"queue": "emails"}'] == 5
    assert samples['claimed_total{"queue": "emails"}'] == 4
    assert samples['settled_total{"outcome": "ack", "queue": "emails"}'] == 2
    assert samples['settled_total{"outcome": "bury", "queue": "emails"}'] == 1
    assert samples['lost_leases_total{"queue": "emails"}'] == 1
    assert samples['run_seconds_count{"queue": "emails"}'] == 4
    assert samples['wait_seconds_count{"queue": "emails"}'] == 4
    assert samples['wait_seconds_sum{"queue": "emails"}'] < 60
    assert samples['depth{"queue": "emails", "state": "ready"}'] == 1
    assert samples['depth{"queue": "emails", "state": "done"}'] == 2
    assert samples["up{}"] == 1
    assert {each.name.removesuffix("_total") for each in METRICS} >= _families(page)


def test_the_documented_metrics_are_those_of_the_code() -> None:
    document = (Path(__file__).parents[2] / "docs/observability.md").read_text()
    rows = re.findall(
        r"^\| `rowmq_(?!http_|grpc_)(\w+)` \| (\w+) \| ([\w, ]*) \| (.*) \|$", document, re.MULTILINE
    )
    assert rows == [(each.name, each.type, ", ".join(each.labels), each.meaning) for each in METRICS]


def _claimed(count: int) -> list[ClaimedMessage]:
    store = MemoryStore()
    build.put_queue(store)
    build.push(store, *build.messages(count))
    return [ClaimedMessage(each, store) for each in build.claim(store, count)]


def _value(metrics: Metrics, name: str, **labels: str) -> float:
    return metrics.registry.get_sample_value(f"rowmq_{name}", labels) or 0


def _samples(page: str) -> dict[str, float]:
    return {
        f"{sample.name.removeprefix('rowmq_')}{dict(sorted(sample.labels.items()))}".replace(
            "'", '"'
        ): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


def _families(page: str) -> set[str]:
    found = {family.name.removeprefix("rowmq_") for family in text_string_to_metric_families(page)}
    return {name for name in found if not name.endswith("_created")}
