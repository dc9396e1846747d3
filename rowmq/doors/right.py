"""Who may do what: the one place where that is decided."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Right(StrEnum):
    """What somebody may do with a queue or topic.

    ``push`` to it (and publish), ``claim`` from it (and extend and settle), ``read`` its settings, counts
    and messages, or ``manage`` it, which includes to read.
    """

    PUSH = "push"
    CLAIM = "claim"
    READ = "read"
    MANAGE = "manage"


EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody known, and the names each right is for: exact ones, or prefixes that end in ``*``.

    >>> worker = Principal("worker", {Right.CLAIM: ("emails", "orders.*")})
    >>> worker.may(Right.CLAIM, "orders.eu"), worker.may(Right.CLAIM, "orders")
    (True, False)
    >>> worker.may(Right.PUSH, "emails")
    False
    """

    name: str
    rights: Mapping[Right, tuple[str, ...]]

    def may(self, right: Right, name: str) -> bool:
        """Whether it has the right on the queue or topic of this name."""
        patterns = self.rights.get(right, ())
        if EVERYTHING in patterns or any(_covers(pattern, name) for pattern in patterns):
            return True
        return right is Right.READ and self.may(Right.MANAGE, name)

    def may_everywhere(self, right: Right) -> bool:
        """Whether it has the right on all queues, also those that do not exist yet."""
        if EVERYTHING in self.rights.get(right, ()):
            return True
        return right is Right.READ and self.may_everywhere(Right.MANAGE)


ANYBODY = Principal("anybody", dict.fromkeys(Right, (EVERYTHING,)))
"""Who everybody is while no tokens are set up: such a server only listens on this machine."""


def _covers(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
