"""A clock that a test moves by hand."""

from datetime import UTC, datetime, timedelta
from threading import Lock

from rowmq.core.errors import InvalidSetting
from rowmq.runtime.answers import Seconds
from rowmq.runtime.client import Client
from rowmq.runtime.options import as_span
from rowmq.stores.memory import MemoryStore

START = datetime(2026, 1, 1, tzinfo=UTC)
"""What a clock says before anybody moves it, unless told otherwise."""


class Clock:
    """A clock that stands still until it is moved, and only moves forward.

    >>> from rowmq.testing import Clock
    >>> clock = Clock()
    >>> clock.move(90)
    datetime.datetime(2026, 1, 1, 0, 1, 30, tzinfo=datetime.timezone.utc)
    >>> clock.now() == clock.move(0)
    True
    """

    def __init__(self, start: datetime = START) -> None:
        if start.tzinfo is None:
            raise InvalidSetting(f"a clock's start needs a time zone, and {start} has none")
        self._now = start.astimezone(UTC)
        self._moving = Lock()

    def __repr__(self) -> str:
        return f"<clock at {self._now.isoformat()}>"

    def now(self) -> datetime:
        """What the clock says."""
        return self._now

    def move(self, by: Seconds) -> datetime:
        """Move it forward by seconds or a timedelta, and return what it says then."""
        length = as_span(by, "a clock's move")
        if length < timedelta(0):
            raise InvalidSetting(f"a clock moves forward, not by {by}")
        with self._moving:
            self._now += length
            return self._now

    def rule(self, client: Client) -> None:
        """Let a client that was opened with ``memory://`` go by this clock from now on."""
        if not isinstance(client.store, MemoryStore):
            raise InvalidSetting("a database has a clock of its own: only memory:// goes by another")
        client.store.tables.tells_time = self.now
