"""How much goes into one answer."""

from collections.abc import Sequence

from rowmq.core.delivery import Delivery

ROOM = 3 * 2**20
"""How many bytes, unless a single message has more: a gRPC client takes 4 MiB if nobody tells it else."""
AROUND = 256
"""How many bytes are around a message, about."""


def fitting(found: Sequence[Delivery]) -> int:
    """How many of these, from the first on, one answer can hold."""
    size = 0
    for count, each in enumerate(found):
        size += weight(each)
        if count and size > ROOM:
            return count
    return len(found)


def weight(found: Delivery) -> int:
    """About how many bytes a message takes in an answer."""
    around = sum(len(key) + len(value) for key, value in found.metadata.items())
    return AROUND + len(found.body) + around
