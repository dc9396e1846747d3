"""The lead of a job that must not run twice at once: taken, kept, and checked before what counts."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import uuid4

from rowmq.core.errors import Refused, StoreError
from rowmq.core.store import Store

TTL = timedelta(seconds=30)
"""How long after a crash others have to wait."""
LOOK_EVERY = 0.25


class Lead:
    """The right to do a job alone. It is kept by a thread, and lost if the store does not hear from it."""

    def __init__(self, store: Store, role: str, ttl: timedelta) -> None:
        self._store = store
        self._role = role
        self._ttl = ttl
        self._name = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        self._over = threading.Event()

    def take(self) -> None:
        """Take the lead; whoever had it and died has it until its time is over. Refused if it is alive."""
        until = time.monotonic() + self._ttl.total_seconds() + 1
        while not self._ask():
            if time.monotonic() > until:
                raise Refused(f"another {self._role} job is running on this store; wait until it has ended")
            time.sleep(LOOK_EVERY)

    def check(self) -> None:
        """Raise Refused unless the lead is still ours."""
        if not self._ask():
            raise Refused(f"another {self._role} job took over while this one stood still; run it again")

    def keep(self) -> None:
        """Keep asking until it is over; runs in a thread."""
        while not self._over.wait(self._ttl.total_seconds() / 3):
            try:
                self._ask()
            except StoreError:
                continue  # whether it is still ours shows at the next check

    def give_up(self) -> None:
        """Let others have it at once."""
        self._over.set()
        self._store.consumers.lead(self._role, self._name, timedelta(microseconds=1))

    def _ask(self) -> bool:
        return self._store.consumers.lead(self._role, self._name, self._ttl)


@contextmanager
def leading(store: Store, role: str, ttl: timedelta = TTL) -> Iterator[Lead]:
    """Have the lead of a role while the block runs; Refused if another has it and is alive."""
    lead = Lead(store, role, ttl)
    lead.take()
    keeping = threading.Thread(target=lead.keep, daemon=True)
    keeping.start()
    try:
        yield lead
    finally:
        lead.give_up()
        keeping.join()
