"""The streams that have a subscription of their own here: each subscription has one."""

from typing import Protocol


class Replaceable(Protocol):
    """A stream that another one may take the place of."""

    def replaced(self) -> None:
        """Stop at once."""


class Streams:
    """Who reads which subscription. A broken connection may take long to look broken from here."""

    def __init__(self) -> None:
        self._streams: dict[str, Replaceable] = {}

    def enter(self, queue: str, stream: Replaceable) -> None:
        """Let this stream read the subscription, and no other."""
        self.stop(queue)
        self._streams[queue] = stream

    def stop(self, queue: str) -> None:
        """Stop the stream that reads the subscription, if one does."""
        former = self._streams.pop(queue, None)
        if former is not None:
            former.replaced()

    def leave(self, queue: str, stream: Replaceable) -> None:
        """This stream has ended."""
        if self._streams.get(queue) is stream:
            del self._streams[queue]
