"""A trace goes through the queue: from whoever pushed to the handler."""

import asyncio
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from rowmq.core.message import LARGEST_METADATA
from rowmq.runtime.answers import Snooze
from rowmq.runtime.claimed import ClaimedMessage
from rowmq.runtime.client import Client, connect
from rowmq.runtime.tracing import Tracing
from rowmq.testing import build

FOREIGN = "00-11111111111111111111111111111111-2222222222222222-01"


@pytest.fixture
def provider() -> TracerProvider:
    return TracerProvider(shutdown_on_exit=False)


@pytest.fixture
def spans(provider: TracerProvider) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter


@pytest.fixture
def mq(provider: TracerProvider) -> Iterator[Client]:
    with connect("memory://") as client:
        client.use(Tracing(provider))
        yield client


def test_a_handlers_span_is_the_child_of_the_pushers(
    mq: Client, provider: TracerProvider, spans: InMemorySpanExporter
) -> None:
    emails, seen = mq.queue("emails"), []

    @emails.handler
    def send(_: ClaimedMessage) -> None:
        seen.append(trace.get_current_span().get_span_context().span_id)

    with provider.get_tracer("app").start_as_current_span("request"):
        id = emails.push("hello")
    mq.worker(stop_when_empty=True).run()
    request, push, process = _named(spans, "request", "push emails", "process emails")
    assert _parent(push) == _id(request)
    assert _parent(process) == _id(push)
    assert seen == [_id(process)]
    assert {each.context.trace_id for each in spans.get_finished_spans()} == {request.context.trace_id}
    assert (push.kind, process.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER)
    assert dict(push.attributes or {}) == {
        "messaging.system": "rowmq",
        "messaging.destination.name": "emails",
        "messaging.operation.type": "send",
        "messaging.operation.name": "push",
        "messaging.message.id": str(id),
    }
    assert dict(process.attributes or {}) == {
        "messaging.system": "rowmq",
        "messaging.destination.name": "emails",
        "messaging.operation.type": "process",
        "messaging.operation.name": "process",
        "messaging.message.id": str(id),
        "messaging.rowmq.attempt": 1,
    }


def test_async_handlers_that_run_together_have_a_span_each(mq: Client, spans: InMemorySpanExporter) -> None:
    emails, together = mq.queue("emails"), asyncio.Barrier(3)
    seen: dict[str, int] = {}

    @emails.handler
    async def send(message: ClaimedMessage) -> None:
        await together.wait()
        seen[str(message.id)] = trace.get_current_span().get_span_context().span_id

    emails.push_many(range(3))
    mq.worker(stop_when_empty=True).run()
    (push,) = _named(spans, "push emails")
    runs = [span for span in spans.get_finished_spans() if span.name == "process emails"]
    assert (push.attributes or {})["messaging.batch.message_count"] == 3
    assert [_parent(span) for span in runs] == [_id(push)] * 3
    assert {str((span.attributes or {})["messaging.message.id"]): _id(span) for span in runs} == seen


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_a_failure_is_recorded_and_each_attempt_has_its_span(
    mq: Client, spans: InMemorySpanExporter, is_async: bool
) -> None:
    emails = mq.queue("emails", max_attempts=2, backoff={"first": 0, "jitter": 0})

    def fail(_: ClaimedMessage) -> None:
        raise ValueError("bad address")

    async def fail_later(message: ClaimedMessage) -> None:
        fail(message)

    emails.handler(fail_later if is_async else fail)
    emails.push("hello")
    mq.worker(stop_when_empty=True).run()
    runs = [span for span in spans.get_finished_spans() if span.name == "process emails"]
    assert [(span.attributes or {})["messaging.rowmq.attempt"] for span in runs] == [1, 2]
    for span in runs:
        assert span.status.status_code is StatusCode.ERROR
        assert (span.attributes or {})["error.type"] == "ValueError"
        assert [event.name for event in span.events] == ["exception"]
        assert (span.events[0].attributes or {})["exception.message"] == "bad address"


def test_a_snoozed_message_has_not_failed(mq: Client, spans: InMemorySpanExporter) -> None:
    emails = mq.queue("emails")

    @emails.handler
    def later(_: ClaimedMessage) -> Snooze:
        return Snooze(after=60)

    emails.push("hello")
    mq.worker(stop_when_empty=True).run()
    (process,) = _named(spans, "process emails")
    assert process.status.status_code is StatusCode.UNSET
    assert emails.stats().scheduled == 1


def test_publishing_is_traced_to_every_subscriber(mq: Client, spans: InMemorySpanExporter) -> None:
    orders = mq.topic("orders")
    for name in ("billing", "shipping"):
        orders.subscribe(name).handler(lambda _: None)
    orders.publish("book")
    mq.worker(stop_when_empty=True).run()
    (publish,) = _named(spans, "push topic:orders")
    runs = _named(spans, "process billing", "process shipping")
    assert [_parent(span) for span in runs] == [_id(publish)] * 2


@pytest.mark.parametrize(
    "given",
    [
        {"traceparent": FOREIGN},
        {"traceparent": FOREIGN, "tracestate": "a=b"},
        {"tracestate": "a=b"},
        {"Traceparent": "x"},
    ],
    ids=["parent", "both", "state", "other case"],
)
def test_what_the_caller_gave_is_never_overwritten(provider: TracerProvider, given: dict[str, str]) -> None:
    (message,) = Tracing(provider).on_push("q", [build.message(metadata=given)])
    assert message.metadata == given


def test_a_foreign_context_is_the_parent(mq: Client, spans: InMemorySpanExporter) -> None:
    emails = mq.queue("emails")
    emails.handler(lambda _: None)
    emails.push("hello", metadata={"traceparent": FOREIGN})
    mq.worker(stop_when_empty=True).run()
    (process,) = _named(spans, "process emails")
    assert f"{_parent(process):016x}" == "2" * 16
    assert f"{process.context.trace_id:032x}" == "1" * 32


@pytest.mark.parametrize("garbage", ["", "nonsense", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "x" * 5000])
def test_a_broken_context_begins_a_new_trace_and_fails_nothing(
    mq: Client, spans: InMemorySpanExporter, garbage: str
) -> None:
    emails = mq.queue("emails")
    emails.handler(lambda _: None)
    emails.push("hello", metadata={"traceparent": garbage})
    mq.worker(stop_when_empty=True).run()
    (process,) = _named(spans, "process emails")
    assert process.parent is None
    assert emails.stats().done == 1


def test_a_message_without_room_for_the_context_is_pushed_untraced(provider: TracerProvider) -> None:
    full = build.message(metadata={"k": "x" * (LARGEST_METADATA - 1)})
    small = build.message()
    kept, traced = Tracing(provider).on_push("q", [full, small])
    assert kept is full
    assert set(traced.metadata) == {"traceparent"}


def test_without_a_provider_nothing_is_added() -> None:
    message = build.message(metadata={"a": "b"})
    assert Tracing().on_push("q", [message]) == [message]


def _named(spans: InMemorySpanExporter, *names: str) -> list[ReadableSpan]:
    found = {span.name: span for span in spans.get_finished_spans()}
    return [found[name] for name in names]


def _id(span: ReadableSpan) -> int:
    return int(span.context.span_id)


def _parent(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id
