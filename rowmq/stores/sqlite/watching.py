"""Hearing that somebody has committed.

``PRAGMA data_version`` on a connection of its own says whether anybody has, for some microseconds; asked
often enough to be quick it would cost several percent of a core. Linux says when the write-ahead log is
written to (inotify), so there it is asked when it is worth it. Elsewhere it is asked all the time.
"""

import ctypes
import os
import select
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

POLL = 0.005
"""Seconds between looks where the system says nothing."""
GLANCE = 0.0005
"""Seconds between looks once it has: what was written is not committed yet."""
GLANCES = 100
LONGEST = 0.1
"""Seconds after which to look although the system has said nothing."""
_MODIFIED, _FILE_GONE, _NONBLOCKING, _CLOSED_AT_EXEC = 0x2, 0x8000, 0o4000, 0o2000000


class Bell:
    """Rings when a file is written to; silent where the system cannot tell.

    Each thread keeps its own: giving one back can take the system many milliseconds.
    """

    def __init__(self, path: str) -> None:
        self._process, self._file = os.getpid(), -1
        try:
            libc = ctypes.CDLL(None)
            self._file = libc.inotify_init1(_NONBLOCKING | _CLOSED_AT_EXEC)
            watched = libc.inotify_add_watch(self._file, os.fsencode(path), _MODIFIED) if self.works else -1
        except (OSError, AttributeError):
            watched = -1
        if watched < 0:
            self.close()

    @property
    def works(self) -> bool:
        """Whether it will ring, in this process."""
        return self._file >= 0 and self._process == os.getpid()

    def wait(self, timeout: float) -> bool:
        """Wait until it rings, or the timeout."""
        if not select.select([self._file], [], [], timeout)[0]:
            return False
        if self._file_is_gone(os.read(self._file, 4096)):
            self.close()
        return True

    def _file_is_gone(self, events: bytes) -> bool:
        return bool(struct.unpack_from("iI", events)[1] & _FILE_GONE)

    def close(self) -> None:
        """Give it back; there are only so many."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def __del__(self) -> None:
        self.close()


class Watching:
    """Waits for commits to a database file, by anybody, in any number of threads."""

    def __init__(self, connect: Callable[[], Any], path: str) -> None:
        self._connect, self._log = connect, f"{path}-wal"
        self._lock = threading.Lock()
        self._connection: tuple[int, Any] | None = None
        self._own = threading.local()

    def wait(self, until: float) -> bool:
        """Wait until there has been a commit since this thread's last look, or that moment."""
        if self._changed():  # also opens the connection, without which there may be no log to watch
            return True
        bell = self._bell()
        return self._listen(bell, until) if bell.works else self._poll(until)

    def _bell(self) -> Bell:
        bell: Bell | None = getattr(self._own, "bell", None)
        if bell is None or not bell.works:
            bell = self._own.bell = Bell(self._log)
        return bell

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._disconnect()

    def hold_still(self) -> None:
        """Have no connection until let go: a child must not inherit one."""
        self._lock.acquire()
        self._disconnect()

    def let_go(self) -> None:
        """Go on."""
        self._lock.release()

    def _listen(self, bell: Bell, until: float) -> bool:
        glances = 0
        while not self._changed():
            left = until - time.monotonic()
            if left <= 0 or not bell.works:
                return False
            rang = bell.wait(min(left, GLANCE if glances else LONGEST))
            glances = GLANCES if rang else max(0, glances - 1)
        return True

    def _poll(self, until: float) -> bool:
        while not self._changed():
            left = until - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(left, POLL))
        return True

    def _changed(self) -> bool:
        with self._lock:
            if self._connection is None or self._connection[0] != os.getpid():
                self._connection = (os.getpid(), self._connect())
            connection = self._connection[1]
            now = (id(connection), connection.execute("PRAGMA data_version").fetchone()[0])
        before, self._own.version = getattr(self._own, "version", None), now
        return bool(before != now)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection[1].close()
        self._connection = None
