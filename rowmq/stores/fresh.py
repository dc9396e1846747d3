"""Messages made here and now: the only place where ids come from."""

import os
import struct
import threading
import time
from typing import Any
from uuid import UUID, SafeUUID

from rowmq.core.message import Message, encode

_lock = threading.Lock()
_last = 0
_new, _set, _UNKNOWN = object.__new__, object.__setattr__, SafeUUID.unknown


def new_id() -> UUID:
    """A UUIDv7: it sorts by time, also among the ids one process makes within a millisecond.

    The clock is only for sorting: nothing depends on it being right.

    >>> new_id() < new_id()
    True
    """
    return new_ids(1)[0]


def new_ids(count: int) -> list[UUID]:
    """Many of them, in order.

    >>> one, other = new_ids(2)
    >>> one < other
    True
    """
    global _last  # noqa: PLW0603 - ids of one process must not run backwards
    with _lock:
        # 48 bits of milliseconds and 12 of their fraction
        first = max(time.time_ns() * 4096 // 1_000_000, _last + 1)
        _last = first + count - 1
    chance = struct.unpack(f"{count}Q", os.urandom(8 * count))
    return list(map(_version_7, range(first, first + count), chance))


def _version_7(moment: int, chance: int) -> UUID:
    high = (moment >> 12) << 16 | 0x7000 | (moment & 0xFFF)
    return uuid_of(high << 64 | 0b10 << 62 | chance >> 2)


def uuid_of(number: int) -> UUID:
    """What ``UUID(int=number)`` makes, in a third of the time: thousands of messages have one each."""
    made = _new(UUID)
    _set(made, "int", number)
    _set(made, "is_safe", _UNKNOWN)
    return made


def message(payload: Any, **options: Any) -> Message:
    """A message with a new id; the payload is bytes or any JSON value, the options are Message's."""
    body, binary = encode(payload)
    return Message(**{"id": new_id(), **options}, body=body, binary=binary)
