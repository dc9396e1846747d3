"""The server's own numbers, kept so that counting a request costs next to nothing.

Plain lists of integers, each with one writer, which are made into what Prometheus reads only when it asks.
"""

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from rowmq.core.message import Pushed
from rowmq.core.outcome import Settled
from rowmq.core.store import Store
from rowmq.runtime.depth import Depth, Metric
from rowmq.runtime.gather import Called
from rowmq.runtime.metrics import prometheus

if TYPE_CHECKING:
    from prometheus_client import Metric as Family

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
VERBS = ("push", "claim", "settle", "extend", "publish")
METRICS = (
    Metric("http_requests_total", "counter", ("method", "path", "status"), "Requests answered, by route"),
    Metric("http_request_seconds", "histogram", ("method", "path"), "From a request's head to its answer"),
    Metric(
        "http_messages_total",
        "counter",
        ("verb",),
        "Messages pushed, claimed, settled, extended; batches published",
    ),
    Metric("http_batch_callers", "histogram", ("verb",), "Callers whose asks shared one call of the store"),
    Metric("http_store_seconds", "histogram", ("verb",), "How long those calls of the store took"),
    Metric("grpc_calls_total", "counter", ("method", "code"), "Calls that are over, by status code"),
    Metric("grpc_call_seconds", "histogram", ("method",), "How long they took; a stream as long as it lasts"),
    Metric("http_connections", "gauge", (), "Connections there are"),
    Metric("http_under_way", "gauge", (), "Requests that are being answered"),
    Metric("http_waiting", "gauge", (), "Callers whose turn with the store has not come"),
    Metric("http_long_polls", "gauge", (), "Callers who wait for messages"),
)
NAMESPACE = "rowmq"
EVERY = timedelta(seconds=5)


class Buckets:
    """How many values fell below each bound, and their sum."""

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds, self.counts, self.total = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    def cumulative(self) -> list[tuple[str, float]]:
        """Bounds and counts as Prometheus has them."""
        names = [*map(str, map(float, self._bounds)), "+Inf"]
        return list(zip(names, map(float, accumulate(self.counts)), strict=True))


class Measures:
    """Counts requests and calls of the store; a Prometheus collector of that, and of the queues' depth."""

    def __init__(self, store: Store) -> None:
        self._requests: dict[tuple[str, str, int], Buckets] = {}
        self._calls: dict[tuple[str, str], Buckets] = {}
        self._callers = {verb: Buckets(SIZES) for verb in VERBS}
        self._seconds = {verb: Buckets(SECONDS) for verb in VERBS}
        self._messages = dict.fromkeys(VERBS, 0)
        self._depth = Depth(store, NAMESPACE, EVERY)
        self._gauges: dict[str, Callable[[], int]] = {}

    def watch(self, name: str, count: Callable[[], int]) -> None:
        """Have a gauge show what a function counts."""
        self._gauges[name] = count

    def observe(self, method: str, path: str, status: int, _size: int, seconds: float) -> None:
        """Count a request."""
        key = (method, path, status)
        try:
            self._requests[key].add(seconds)
        except KeyError:
            self._requests.setdefault(key, Buckets(SECONDS)).add(seconds)

    def observe_call(self, method: str, code: str, seconds: float) -> None:
        """Count a call by gRPC."""
        self._calls.setdefault((method, code), Buckets(SECONDS)).add(seconds)

    def around(self, verb: str, call: Called) -> Called:
        """A call of the store that is measured."""
        callers, seconds = self._callers[verb], self._seconds[verb]

        def measured(asked: Sequence[Any]) -> Sequence[Any]:
            started = time.perf_counter()
            answers = call(asked)
            seconds.add(time.perf_counter() - started)
            callers.add(len(asked))
            self._messages[verb] += sum(map(_COUNTS[verb], answers))
            return answers

        return measured

    def text(self) -> bytes:
        """Everything as Prometheus reads it."""
        client = prometheus()
        registry = client.CollectorRegistry(auto_describe=False)
        registry.register(self)
        page: bytes = client.generate_latest(registry)
        return page

    def describe(self) -> "list[Family]":
        """Nothing yet, so that registering does not ask the store."""
        return []

    def collect(self) -> "Iterator[Family]":
        """Every metric with its numbers."""
        yield from self._depth.collect()
        made = {each.name: _family(each) for each in METRICS}
        self._add_requests(made["http_requests_total"], made["http_request_seconds"])
        self._add_calls(made["grpc_calls_total"], made["grpc_call_seconds"])
        for verb in VERBS:
            made["http_messages_total"].add_metric((verb,), self._messages[verb])
            _add(made["http_batch_callers"], (verb,), [self._callers[verb]])
            _add(made["http_store_seconds"], (verb,), [self._seconds[verb]])
        for name, count in self._gauges.items():
            made[name].add_metric((), count())
        yield from made.values()

    def _add_requests(self, total: Any, seconds: Any) -> None:
        routes: dict[tuple[str, str], list[Buckets]] = {}
        for (method, path, status), buckets in list(self._requests.items()):
            total.add_metric((method, path, str(status)), sum(buckets.counts))
            routes.setdefault((method, path), []).append(buckets)
        for route, found in routes.items():
            _add(seconds, route, found)

    def _add_calls(self, total: Any, seconds: Any) -> None:
        methods: dict[str, list[Buckets]] = {}
        for (method, code), buckets in list(self._calls.items()):
            total.add_metric((method, code), sum(buckets.counts))
            methods.setdefault(method, []).append(buckets)
        for method, found in methods.items():
            _add(seconds, (method,), found)


def _add(family: Any, labels: tuple[str, ...], found: Iterable[Buckets]) -> None:
    """Add the sum of some buckets, all of the same bounds."""
    each = [(one.cumulative(), one.total) for one in found]
    counts = [(name, sum(one[place][1] for one, _ in each)) for place, (name, _) in enumerate(each[0][0])]
    family.add_metric(labels, counts, sum(total for _, total in each))


def _family(metric: Metric) -> Any:
    from prometheus_client import core  # noqa: PLC0415 - an extra

    kinds = {
        "counter": core.CounterMetricFamily,
        "histogram": core.HistogramMetricFamily,
        "gauge": core.GaugeMetricFamily,
    }
    return kinds[metric.type](f"{NAMESPACE}_{metric.name}", metric.meaning, labels=metric.labels)


def _pushed(answer: object) -> int:
    return len(answer.ids) if isinstance(answer, Pushed) else 0


def _claimed(answer: Any) -> int:
    return 0 if isinstance(answer, Exception) else sum(map(len, answer))


def _settled(answer: Any) -> int:
    return sum(each is not Settled.LOST for each in answer)


def _extended(answer: Any) -> int:
    return sum(each is not None for each in answer)


def _published(answer: object) -> int:
    return int(not isinstance(answer, Exception))


_COUNTS = {
    "push": _pushed,
    "claim": _claimed,
    "settle": _settled,
    "extend": _extended,
    "publish": _published,
}
