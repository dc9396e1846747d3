"""How much of everything a run does."""

from __future__ import annotations

from typing import NamedTuple

SIZES = {"200 B": 200, "2 KB": 2000, "20 KB": 20_000}
MAIN = "200 B"
"""The size at which everything is measured in every round; at the others what goes message by message is
measured once."""
BATCH = 1000
MOST = 200_000_000
"""Bytes that all messages of a step may have."""
FEW = 200
"""Messages of the smallest step."""


class Plan(NamedTuple):
    """How much of everything."""

    messages: int
    """Messages of a step, at most."""
    seconds: float
    """About what a step should take: a slow system gets fewer messages, and handles all of them."""
    paced: int
    """Messages that are pushed to an idle system to see how soon they are handled."""
    size: int = 200
    batch: int = BATCH

    def of_size(self, size: int) -> Plan:
        """The same with messages of another size, and so many that they fit into memory several times.

        >>> Plan(100_000, 5.0, 100).of_size(20_000).messages
        10000
        """
        return self._replace(size=size, messages=min(self.messages, MOST // size))

    def longer(self, times: int) -> Plan:
        """The same with steps so many times as long.

        >>> Plan(100_000, 5.0, 100).longer(4).seconds
        20.0
        """
        return self._replace(messages=times * self.messages, seconds=times * self.seconds)

    def scaled(self, rate: float) -> int:
        """How many messages a system of that rate gets.

        >>> Plan(100_000, 5.0, 100).scaled(300.0), Plan(100_000, 5.0, 100).scaled(30_000.0)
        (1500, 100000)
        """
        return int(min(self.messages, max(FEW, rate * self.seconds)))
