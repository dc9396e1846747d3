"""Traces for OpenTelemetry: a handler's span is the child of the span that pushed its message."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from rowmq.core.errors import InvalidMessage
from rowmq.core.message import Message
from rowmq.runtime.middleware import Middleware

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from rowmq.runtime.claimed import ClaimedMessage

CONTEXT = frozenset({"traceparent", "tracestate"})
"""The metadata in which a trace travels, as the W3C names it."""


class Tracing(Middleware):
    """A span for each push, and one for each handler that runs, with the push as its parent.

    The push's context travels in the metadata ``traceparent`` and ``tracestate``; a message that has
    either already keeps what it has. ``tracer_provider`` None is the global one. Needs ``rowmq[tracing]``.

    >>> import rowmq
    >>> mq = rowmq.connect("memory://")
    >>> mq.use(Tracing())
    """

    def __init__(self, tracer_provider: "TracerProvider | None" = None) -> None:
        trace, propagation = opentelemetry()
        self._trace = trace
        self._tracer = trace.get_tracer("rowmq", version("rowmq"), tracer_provider)
        self._propagator = propagation.TraceContextTextMapPropagator()

    def on_push(self, queue: str, messages: Sequence[Message]) -> Sequence[Message]:
        """Begin a trace, or go on with the caller's, and send it along."""
        attributes = described(queue, "send", "push")
        if len(messages) == 1:
            attributes["messaging.message.id"] = str(messages[0].id)
        else:
            attributes["messaging.batch.message_count"] = len(messages)
        kind = self._trace.SpanKind.PRODUCER
        with self._tracer.start_as_current_span(f"push {queue}", kind=kind, attributes=attributes):
            context: dict[str, str] = {}
            self._propagator.inject(context)
        return [carrying(context, each) for each in messages]

    @contextmanager
    def around(self, message: "ClaimedMessage") -> Iterator[None]:
        """Run the handler in a span of the message's own trace."""
        attributes = described(message.queue, "process", "process")
        attributes["messaging.message.id"] = str(message.id)
        attributes["messaging.rowmq.attempt"] = message.attempt
        with self._tracer.start_as_current_span(
            f"process {message.queue}",
            context=self._propagator.extract(message.metadata),
            kind=self._trace.SpanKind.CONSUMER,
            attributes=attributes,
        ) as span:
            try:
                yield
            except Exception as error:  # the span itself records it, and its status
                span.set_attribute("error.type", type(error).__qualname__)
                raise


def opentelemetry() -> tuple[Any, Any]:
    """The packages that keep the spans, imported once somebody asks for them."""
    try:
        from opentelemetry import trace  # noqa: PLC0415 - an extra, and nobody else should pay for it
        from opentelemetry.trace.propagation import tracecontext  # noqa: PLC0415 - the same
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "tracing needs a package that is not installed; run: pip install 'rowmq[tracing]'"
        ) from None
    return trace, tracecontext


def described(queue: str, type: str, name: str) -> dict[str, str | int]:
    """What OpenTelemetry's conventions for messaging want to know of every span."""
    return {
        "messaging.system": "rowmq",
        "messaging.destination.name": queue,
        "messaging.operation.type": type,
        "messaging.operation.name": name,
    }


def carrying(context: Mapping[str, str], message: Message) -> Message:
    """The message with the context in its metadata, unless it has one or has no room for it."""
    if not context or any(key.lower() in CONTEXT for key in message.metadata):
        return message
    try:
        return replace(message, metadata={**message.metadata, **context})
    except InvalidMessage:  # its metadata is full: better untraced than refused
        return message
