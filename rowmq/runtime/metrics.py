"""Numbers for Prometheus: what was pushed, claimed and settled, how long it took, and what is waiting."""

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rowmq.core.errors import InvalidSetting
from rowmq.core.message import Message
from rowmq.core.outcome import Outcome, Settled
from rowmq.core.store import Store
from rowmq.runtime.depth import GAUGES, Depth, Metric, StoreClock
from rowmq.runtime.middleware import Middleware

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from rowmq.runtime.claimed import ClaimedMessage

BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600)


OWN = (
    Metric("pushed_total", "counter", ("queue",), "Messages handed to the store; a topic's as topic:NAME"),
    Metric("claimed_total", "counter", ("queue",), "Messages claimed by workers"),
    Metric("settled_total", "counter", ("queue", "outcome"), "Settlements: ack, retry, release or bury"),
    Metric("lost_leases_total", "counter", ("queue",), "Held messages that went on without their worker"),
    Metric("wait_seconds", "histogram", ("queue",), "From push to the start of the first handler"),
    Metric("run_seconds", "histogram", ("queue",), "How long handlers ran"),
)
METRICS = OWN + GAUGES


class Metrics(Middleware):
    """Counts what a client pushes and its workers do, for Prometheus to read.

    With a ``store``, the depth and age of its queues are read too, when somebody asks and at most
    once in ``every``. ``registry`` None is prometheus_client's own. Needs ``rowmq[metrics]``.

    >>> import rowmq
    >>> from prometheus_client import CollectorRegistry
    >>> mq = rowmq.connect("memory://")
    >>> metrics = Metrics(CollectorRegistry(), store=mq.store)
    >>> mq.use(metrics)
    >>> id = mq.queue("emails").push("hello")
    >>> metrics.registry.get_sample_value("rowmq_depth", {"queue": "emails", "state": "ready"})
    1.0
    """

    def __init__(
        self,
        registry: "CollectorRegistry | None" = None,
        namespace: str = "rowmq",
        *,
        store: Store | None = None,
        every: timedelta = timedelta(seconds=5),
    ) -> None:
        if not re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", namespace):
            raise InvalidSetting(f"a metrics namespace is letters, digits and _, not {namespace!r}")
        client = prometheus()
        self.registry: CollectorRegistry = client.REGISTRY if registry is None else registry
        self._made = {each.name: _made(client, each, namespace, self.registry) for each in OWN}
        self._clock = None if store is None else StoreClock(store)
        if store is not None:
            self.registry.register(Depth(store, namespace, every))

    def on_pushed(self, queue: str, messages: Sequence[Message]) -> None:
        """Count them."""
        self._made["pushed_total"].labels(queue).inc(len(messages))

    def on_claim(self, queue: str, messages: "Sequence[ClaimedMessage]") -> None:
        """Count them."""
        self._made["claimed_total"].labels(queue).inc(len(messages))
        if self._clock is not None:
            self._clock.ask()  # here, on the worker's own thread: a handler's may be an event loop

    @contextmanager
    def around(self, message: "ClaimedMessage") -> Iterator[None]:
        """Measure how long the message has waited and how long its handler runs."""
        self._observe_wait(message)
        start = time.perf_counter()
        try:
            yield
        finally:
            self._made["run_seconds"].labels(message.queue).observe(time.perf_counter() - start)

    def on_settle(self, settled: "Sequence[tuple[ClaimedMessage, Outcome, Settled]]") -> None:
        """Count what counted.

        A repeated settlement counts: the answer to the first never came, so it has not been counted.
        """
        counted = Counter(
            (message.queue, type(outcome).__name__.lower())
            for message, outcome, answer in settled
            if answer is not Settled.LOST
        )
        for labels, count in counted.items():
            self._made["settled_total"].labels(*labels).inc(count)

    def on_lost(self, message: "ClaimedMessage") -> None:
        """Count it."""
        self._made["lost_leases_total"].labels(message.queue).inc()

    def serve(self, port: int, host: str = "127.0.0.1") -> "Endpoint":
        """Answer Prometheus over HTTP from a thread of its own; port 0 takes a free one."""
        return Endpoint(self.registry, port, host)

    def _observe_wait(self, message: "ClaimedMessage") -> None:
        # What was delivered before has waited for its retry, not for a worker; attempts would not tell,
        # because a release takes its attempt back.
        if self._clock is None or message.receives != 1:
            return
        now = self._clock.now()
        if now is not None:
            waited = (now - message.created_at).total_seconds()
            self._made["wait_seconds"].labels(message.queue).observe(max(0.0, waited))


class Endpoint:
    """Metrics served over HTTP until it is closed."""

    def __init__(self, registry: "CollectorRegistry", port: int, host: str) -> None:
        try:
            self._server, self._thread = prometheus().start_http_server(port, host, registry)
        except (OSError, OverflowError) as error:
            raise InvalidSetting(f"metrics cannot be served on {host}:{port}: {error}") from None
        self.port: int = self._server.server_port
        self.url = f"http://{host}:{self.port}/metrics"

    def close(self) -> None:
        """Stop answering and free the port."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def prometheus() -> Any:
    """The package that keeps the numbers, imported once somebody asks for it."""
    try:
        import prometheus_client  # noqa: PLC0415 - an extra, and nobody else should pay for it
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "metrics need a package that is not installed; run: pip install 'rowmq[metrics]'"
        ) from None
    return prometheus_client


def _made(client: Any, metric: Metric, namespace: str, registry: "CollectorRegistry") -> Any:
    options: dict[str, Any] = {"labelnames": metric.labels, "namespace": namespace, "registry": registry}
    try:
        if metric.type == "counter":
            return client.Counter(metric.name, metric.meaning, **options)
        return client.Histogram(metric.name, metric.meaning, buckets=BUCKETS, **options)
    except ValueError:
        raise InvalidSetting(
            f"this registry already has a metric {namespace}_{metric.name};"
            " keep one Metrics for the process, or give this one a registry or a namespace of its own"
        ) from None
