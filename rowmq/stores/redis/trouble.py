"""What Redis refuses, in a sentence of ours."""

from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ClusterError,
    MovedError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
)

from rowmq.core.errors import StoreError, StoreFull, StoreUnavailable

BUSY = "BUSY"
_SENTENCES: tuple[tuple[type[RedisError], str], ...] = (
    (AuthenticationError, "Redis refuses the user or the password; put the right ones into the URL"),
    (NoPermissionError, "this Redis user lacks a right; give it those that the documentation lists"),
    (BusyLoadingError, "Redis is still loading its data; try again in a moment"),
    (ReadOnlyError, "this Redis is a read-only replica; connect to its primary"),
    (MovedError, "this node of a Redis Cluster does not have our hash slot; connect to the one that has"),
    (ClusterError, "the Redis Cluster is down"),
)
_FULL = "Redis is at its maxmemory, and nothing was written; settle or purge messages, or raise maxmemory"
_WORDS = {
    BUSY: "Redis is busy with another script; try again in a moment",
    "MISCONF": "Redis cannot write to its disk and takes no writes; make room there",
    "NOREPLICAS": "Redis has fewer replicas than it is told to write to",
}


def passing(error: RedisError) -> bool:
    """Whether what stands in the way goes away by itself, and nothing was done."""
    return isinstance(error, BusyLoadingError) or str(error).startswith(BUSY)


def refusal(error: RedisError) -> StoreError:
    """What a server said that it did not do."""
    if isinstance(error, OutOfMemoryError):
        return StoreFull(f"{_FULL} ({error})")
    for kind, sentence in _SENTENCES:
        if isinstance(error, kind):
            return StoreUnavailable(f"{sentence} ({error})")
    sentence = _WORDS.get(str(error).split(" ", 1)[0], "")
    return StoreUnavailable(f"{sentence} ({error})") if sentence else StoreError(f"Redis: {error}")
