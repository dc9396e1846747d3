"""What users, metrics and traces hang between a message and those who push or handle it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from rowmq.core.message import Message
from rowmq.core.outcome import Outcome, Settled

if TYPE_CHECKING:
    from rowmq.runtime.claimed import ClaimedMessage
    from rowmq.runtime.worker import Worker


class Middleware:
    """Hooks that do nothing; override what you need, the rest costs nothing.

    ``around`` is entered on the thread, or on the event loop, that runs the handler, so one definition
    serves both: what the handler raises passes through it. A hook that raises before the handler fails
    the message; one that raises afterwards is logged and changes nothing.

    >>> from rowmq import Middleware, testing
    >>> class Shout(Middleware):
    ...     def after(self, message, outcome, error):
    ...         print("ended:", message.payload)
    >>> mq = testing.connect()
    >>> mq.use(Shout())
    >>> handler = mq.handler("emails")(lambda message: None)
    >>> id = mq.queue("emails").push("hello")
    >>> [ran] = testing.drain(mq)
    ended: hello
    """

    def on_push(self, queue: str, messages: Sequence[Message]) -> Sequence[Message]:  # noqa: ARG002
        """See, or replace, what is about to be pushed to a queue; a topic's name begins with ``topic:``."""
        return messages

    def on_pushed(self, queue: str, messages: Sequence[Message]) -> None:
        """These are in the store, or in the caller's transaction."""

    def on_claim(self, queue: str, messages: "Sequence[ClaimedMessage]") -> None:
        """A worker got these."""

    def before(self, message: "ClaimedMessage") -> None:
        """A handler is about to run."""

    def around(self, message: "ClaimedMessage") -> AbstractContextManager[object]:  # noqa: ARG002
        """A context to run the handler in."""
        return nullcontext()

    def after(self, message: "ClaimedMessage", outcome: Outcome, error: BaseException | None) -> None:
        """A handler has run, and this is what will be settled."""

    def on_settle(self, settled: "Sequence[tuple[ClaimedMessage, Outcome, Settled]]") -> None:
        """The store has answered these settlements."""

    def on_lost(self, message: "ClaimedMessage") -> None:
        """A held message went on without its holder: its handler, if it runs, is running in vain."""

    def around_worker(self, worker: "Worker") -> AbstractContextManager[object]:  # noqa: ARG002
        """A context for a worker's whole life, entered before its first claim and left after its last ack."""
        return nullcontext()


class Inject(Middleware):
    """Adds metadata to everything pushed; what a message says itself wins.

    >>> from rowmq import Inject, connect
    >>> mq = connect("memory://")
    >>> mq.use(Inject(lambda: {"host": "web-1"}))
    >>> mq.get(mq.queue("emails").push("hello")).metadata
    {'host': 'web-1'}
    """

    def __init__(self, metadata: Callable[[], Mapping[str, str]]) -> None:
        self._metadata = metadata

    def on_push(self, queue: str, messages: Sequence[Message]) -> Sequence[Message]:  # noqa: ARG002
        """Add the metadata."""
        extra = self._metadata()
        return [replace(each, metadata={**extra, **each.metadata}) for each in messages]


def overriding(middleware: Sequence[Middleware], hook: str) -> list[Middleware]:
    """Those that override a hook: the only ones worth calling."""
    return [each for each in middleware if getattr(type(each), hook) is not getattr(Middleware, hook)]
