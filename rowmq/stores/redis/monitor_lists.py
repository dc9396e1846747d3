"""Lists of messages: the sorted sets that are looked at, and which of what they hold is wanted."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from rowmq.core.clock import micros
from rowmq.core.errors import QueueNotFound
from rowmq.core.look import Spot
from rowmq.core.monitor import Place
from rowmq.core.outcome import State
from rowmq.core.where import Where, holds
from rowmq.stores.redis.server import Server
from rowmq.stores.redis.values import seq_text

AT_ONCE = 1000
"""How many messages one script looks at."""
FIRST, LAST = "-inf", "+inf"
BEHIND_ALL = "9" * 16
LINES = {State.DONE: ("ended",), State.DEAD: ("died",)}
OWED = (*(f"due:{priority}" for priority in range(9, -1, -1)), "parked")
Period = tuple[datetime | None, datetime | None]


class Listing(Protocol):
    """A long list of messages."""

    def look(self, place: Place | None, size: int) -> Sequence[Spot]:
        """The next spots behind a place."""

    def choose(self, spots: Sequence[Spot]) -> Sequence[Spot]:
        """Those of them that are wanted."""


class Messages:
    """The messages of a queue in a state."""

    def __init__(
        self, server: Server, queue: str, state: State, where: Where, period: Period, now: datetime
    ) -> None:
        self._server, self._queue, self._state, self._where = server, queue, state, where
        self._since, self._until = (None if each is None else micros(each) for each in period)
        self._now = micros(now)
        self._finished = state in LINES
        self._found: dict[int, tuple[str, int, bytes]] = {}

    def look(self, place: Place | None, size: int) -> list[Spot]:
        """One line behind the other, a bounded number at a time."""
        spots: list[Spot] = []
        while len(spots) < size:
            look = min(AT_ONCE, size - len(spots))
            some = self._some(spots[-1].place if spots else place, look)
            spots += some
            if len(some) < look:
                break
        return spots

    def choose(self, spots: Sequence[Spot]) -> list[Spot]:
        """Those in the state, of the period, whose metadata match."""
        return [spot for spot in spots if self._is_wanted(*self._found[spot.seq])]

    def _some(self, place: Place | None, size: int) -> list[Spot]:
        begin = self._start()
        early = place is None or (self._finished and self._until is not None and place[1] >= self._until)
        line, time, seq = (1, *begin) if early or place is None else _text_of(place)
        order = "newest" if self._finished else "oldest"
        given = (line, time, seq, *begin, self._end(), size, int(bool(self._where)))
        lines = LINES.get(self._state, OWED)
        answer = self._server.call("page", self._queue, str(self._now), order, *given, *lines)
        if answer is None:
            raise QueueNotFound(self._queue)
        return [self._spot(*each) for each in answer[1]]

    def _spot(self, line: bytes, time: bytes, seq: bytes, state: bytes, born: bytes, metadata: bytes) -> Spot:
        spot = Spot((int(line), int(time), int(seq)), int(seq))
        self._found[spot.seq] = (state.decode(), int(born), metadata)
        return spot

    def _start(self) -> tuple[str, str]:
        """Behind which time and seq a line begins."""
        if self._finished:
            return (LAST if self._until is None else str(self._until)), ""
        return (FIRST, "") if self._state == State.READY else (str(self._now), BEHIND_ALL)

    def _end(self) -> Any:
        """The last time to look at."""
        if self._finished:
            return "" if self._since is None else self._since
        return self._now if self._state == State.READY else ""

    def _is_wanted(self, state: str, born: int, metadata: bytes) -> bool:
        if state != self._state or not holds(self._where, json.loads(metadata) if metadata else {}):
            return False
        young = self._since is None or born >= self._since
        return self._finished or (young and (self._until is None or born < self._until))


def _text_of(place: Place) -> tuple[int, str, str]:
    line, time, seq = place
    return line, str(time), seq_text(seq)


class Failed:
    """The failures of a queue, newest first, each message once."""

    def __init__(self, server: Server, queue: str, text: str, place: Place | None, limit: int) -> None:
        self._server, self._queue, self._text = server, queue, text
        self._later, self._wanted = place is not None, limit + 1
        self._indexes: dict[int, int] = {}
        self._seen: set[bytes] = set()

    def look(self, place: Place | None, size: int) -> list[Spot]:
        """By number, a bounded number at a time."""
        spots: list[Spot] = []
        while len(spots) < size:
            before = spots[-1].place if spots else place
            look = min(AT_ONCE, size - len(spots))
            some = self._some(LAST if before is None else str(before[0]), look)
            spots += some
            if len(some) < look:
                break
        return spots

    def choose(self, spots: Sequence[Spot]) -> list[Spot]:
        """Those that the script has found to match, unless they are on an earlier page."""
        fresh = [spot for spot in spots if spot.place[0] in self._indexes]
        chosen: list[Spot] = []
        # No more are looked up than a page has: those behind them are the next page's.
        for start in range(0, len(fresh), self._wanted):
            chosen += self._not_before(fresh[start : start + self._wanted])
            if len(chosen) >= self._wanted:
                break
        return chosen

    def failures(self, spots: Sequence[Spot]) -> list[tuple[int, int]]:
        """The failures that messages were found by: seqs, and places among their own."""
        return [(spot.seq, self._indexes[spot.place[0]]) for spot in spots]

    def _some(self, before: str, size: int) -> list[Spot]:
        found = self._server.call("failed", self._queue, before, size, self._text)
        if found is None:
            raise QueueNotFound(self._queue)
        for number, seq, index, is_first in found:
            if is_first and seq not in self._seen:
                self._seen.add(seq)
                self._indexes[int(number)] = int(index)
        return [Spot((int(number),), int(seq)) for number, seq, *_ in found]

    def _not_before(self, spots: Sequence[Spot]) -> Sequence[Spot]:
        """Those that are on no earlier page."""
        if not self._later:
            return spots
        given = [each for spot in spots for each in (seq_text(spot.seq), self._indexes[spot.place[0]])]
        later = {int(seq) for seq in self._server.call("failed_later", self._queue, self._text, *given)}
        return [spot for spot in spots if spot.seq not in later]


def last_failures(spots: Sequence[Spot]) -> list[tuple[int, int]]:
    """The last failure of each message."""
    return [(spot.seq, -1) for spot in spots]
