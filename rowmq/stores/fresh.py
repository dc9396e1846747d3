"""Messages made here and now: the only place where ids come from."""

import os
import threading
import time
from typing import Any
from uuid import UUID

from rowmq.core.message import Message, encode

_lock = threading.Lock()
_last = 0


def new_id() -> UUID:
    """A UUIDv7: it sorts by time, also among the ids one process makes within a millisecond.

    The clock is only for sorting: nothing depends on it being right.

    >>> new_id() < new_id()
    True
    """
    global _last  # noqa: PLW0603 - ids of one process must not run backwards
    with _lock:
        # 48 bits of milliseconds and 12 of their fraction
        _last = max(time.time_ns() * 4096 // 1_000_000, _last + 1)
        moment = _last
    high = (moment >> 12) << 16 | 0x7000 | (moment & 0xFFF)
    return UUID(int=high << 64 | 0b10 << 62 | int.from_bytes(os.urandom(8)) >> 2)


def message(payload: Any, **options: Any) -> Message:
    """A message with a new id; the payload is bytes or any JSON value, the options are Message's."""
    body, binary = encode(payload)
    return Message(**{"id": new_id(), **options}, body=body, binary=binary)
