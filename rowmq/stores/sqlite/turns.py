"""Whose turn it is to write, among the threads of a process."""

import threading
import time
from collections import deque

BREATH = 0.00005
"""Seconds; a thread that sleeps so long has let go of the interpreter, and another has it."""


class Turns:
    """A lock that its holder may enter again. Whoever leaves it lets the next one begin before going on.

    A thread that is woken needs the interpreter to send its statement. It would wait for it until the one
    before has made thousands of messages of what it has read, and nobody would write meanwhile.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._waiting: deque[None] = deque()

    def __enter__(self) -> None:
        if self._lock.acquire(blocking=False):
            return
        self._waiting.append(None)  # not a number, to which two threads could add at once
        try:
            self._lock.acquire()
        finally:
            self._waiting.pop()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        if self._waiting:
            time.sleep(BREATH)
