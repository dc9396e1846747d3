"""The rule of a queue's rate: a bucket that refills evenly. Times are in microseconds.

The rule stands here once: the memory store and every SQL store call it.
"""

from typing import NamedTuple

from rowmq.core.clock import span
from rowmq.core.queue import Rate

WHOLE = 1_000_000
"""A bucket's room is counted in millionths of a message, so that it does not depend on the rate."""
SKEW = 60_000_000
"""A bucket written this much more than a period from now was written before the clock was set back."""


class Bucket(NamedTuple):
    """How much a bucket held at some moment."""

    room: int
    at: int

    @property
    def messages(self) -> int:
        """How many messages may go now."""
        return self.room // WHOLE


def refilled(bucket: Bucket | None, rate: Rate, now: int) -> Bucket:
    """A queue's bucket as it is now; one that was never used is full."""
    full, period = rate.limit * WHOLE, span(rate.period)
    if bucket is None or bucket.at > now + period + SKEW:
        return Bucket(full, now)
    passed = max(0, now - bucket.at)
    return Bucket(min(full, bucket.room + passed * full // period), max(bucket.at, now))


def drained(bucket: Bucket, count: int) -> Bucket:
    """What is left of a refilled bucket after some messages went.

    Keep it only if any did: what the division of a refill drops is lost with every bucket kept.
    """
    return bucket._replace(room=bucket.room - count * WHOLE)
