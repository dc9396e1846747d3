"""What the threads of a fetcher know of each other's claims."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Claims:
    """The claims that are under way, and how the last ones ended."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._under_way = 0
        self._plenty = self._closed = False
        self.found = 0
        """Messages that were found so far."""

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Meanwhile one more is under way."""
        with self._changed:
            self._under_way += 1
        try:
            yield
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def ended(self, found: int, *, plenty: bool) -> None:
        """Note what a claim found, before it is no longer under way, and whether there is plenty more."""
        with self._changed:
            self.found += found
            self._plenty = plenty
            self._changed.notify_all()

    def is_quiet(self, found: int) -> bool:
        """Whether none is under way, and no more was found than that."""
        with self._changed:
            return not self._under_way and self.found == found

    def wait_for_plenty(self) -> None:
        """Sleep until there is plenty, or claiming is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._plenty or self._closed)

    def close(self) -> None:
        """Let nobody sleep any more, and wait until no claim is under way."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._under_way)
