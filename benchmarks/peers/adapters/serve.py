"""What every adapter in Python shares: the protocol with the runner, and the clock.

An adapter is a process that reads a JSON object a line and answers with one. It runs in its system's own
environment, so this file needs nothing but Python. The runner starts one process that makes and fills the
queue and others that work; each says what it knows of itself.

    {"do": "describe"}                          versions, and the settings it was given and why
    {"do": "open", "url": ..., "make": true}    connect; make what the system needs in an empty place; answers
                                                with the processes it started that are servers
    {"do": "enqueue", "count": 9, "batch": 3, "size": 200, "seconds": 5}    push so many, or for so long
    {"do": "start", "listen": false}            begin to work; from then on ticks are said unasked
    {"do": "stop"}                              stop working, in good order: handled is acked
    {"do": "left"}                              how many messages are not finished
    {"do": "pace", "count": 9, "gap": 0.1}      push one by one in that rhythm: when each was called, returned
    {"do": "began"}                             when each message's handler began, if it was listened to
    {"do": "roundtrip", "count": 9, "seconds": 5}    one message at a time, from push to handler
    {"do": "seed", "finished": 9, "size": 200}  finished messages, by SQL where there is SQL; how many
    {"do": "cycle", "count": 9, "seconds": 5, "size": 200, "waiting": 0, "fifo": false}    SQS: send to delete

Times are of the machine's monotonic clock, in nanoseconds, which all processes share.
"""

from __future__ import annotations

import json
import os
import platform
import queue
import random
import sqlite3
import sys
import threading
import time
import traceback
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from benchmarks.peers.adapters.peer import NotOffered, Peer

if TYPE_CHECKING:
    from collections.abc import Iterator

TICK = 0.005
"""Seconds between two looks at how much was handled."""


def payload(number: int, size: int) -> dict[str, Any]:
    """A message of about that many bytes of JSON."""
    return {"n": number, "text": "x" * max(size - 24, 0)}


class Service:
    """Answers the runner."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._out = os.fdopen(os.dup(1), "w", buffering=1)
        os.dup2(2, 1)  # what a system prints is not an answer
        self._lock = threading.Lock()
        self._next = self._told = 0
        self._working = False
        self._began: list[tuple[int, int]] = []
        self._heard: queue.SimpleQueue[int] = queue.SimpleQueue()

    def run(self) -> None:
        """Answer until the runner has no more to ask."""
        threading.Thread(target=self._tick, daemon=True).start()
        for line in sys.stdin:
            asked = json.loads(line)
            try:
                self._say(getattr(self, f"do_{asked.pop('do')}")(**asked))
            except NotOffered as reason:
                self._say({"refused": str(reason)})
            except Exception:  # noqa: BLE001 - whatever it was, the runner is told
                self._say({"failed": traceback.format_exc()})
        self._leave()

    def _leave(self) -> None:
        """End, and leave no process behind; threads may be left, and the place is thrown away."""
        try:
            if self._working:
                self._peer.stop()
            self._peer.close()
        finally:
            os._exit(0)

    def _say(self, answer: dict[str, Any] | None) -> None:
        with self._lock:
            self._out.write(json.dumps(answer or {}) + "\n")

    def _tick(self) -> None:
        while True:
            time.sleep(TICK)
            self._say_done()

    def _say_done(self) -> None:
        with self._lock:
            done, now = len(self._peer.handled), time.monotonic_ns()
            if done != self._told:
                self._told = done
                self._out.write(json.dumps({"tick": [now, done]}) + "\n")

    def _messages(self, count: int, size: int) -> Iterator[dict[str, Any]]:
        for _ in range(count):
            self._next += 1
            yield payload(self._next, size)

    def do_describe(self) -> dict[str, Any]:
        return {"runs on": runs_on(self._peer.clients), **self._peer.describe()}

    def do_open(self, url: str, *, make: bool) -> dict[str, Any]:
        self._peer.open(url, make=make)
        return {"servers": self._peer.servers()}

    def do_enqueue(self, count: int, batch: int, size: int, seconds: float) -> dict[str, Any]:
        messages, started = self._messages(count, size), time.monotonic()
        if batch == 1:
            pushed = self._peer.push_each(messages, started + seconds)
        else:
            pushed = self._peer.push_batches(messages, batch, started + seconds)
        return {"count": pushed, "seconds": time.monotonic() - started}

    def do_start(self, *, listen: bool) -> None:
        self._peer.told = self._hear if listen else None
        self._working = True
        self._peer.start()

    def _hear(self, number: int, began: int) -> None:
        self._began.append((number, began))
        self._heard.put(number)

    def do_stop(self) -> None:
        self._peer.stop()
        self._working = False
        self._say_done()  # before the answer, which ends the step

    def do_left(self) -> dict[str, Any]:
        return {"left": self._peer.left()}

    def do_began(self) -> dict[str, Any]:
        found, self._began = self._began, []
        return {"began": found}

    def do_pace(self, count: int, gap: float, size: int) -> dict[str, Any]:
        """Push in a rhythm that does not wait for a push that is late, and is a little uneven."""
        pushed, due = [], time.monotonic()
        for message in self._messages(count, size):
            time.sleep(max(0.0, due - time.monotonic()))
            due += gap * random.uniform(0.5, 1.5)  # noqa: S311 - so that no rhythm helps
            called = time.monotonic_ns()
            self._peer.push(message)
            pushed.append((message["n"], called, time.monotonic_ns()))
        return {"pushed": pushed}

    def do_roundtrip(self, count: int, seconds: float, size: int) -> dict[str, Any]:
        """Push one and wait until it is handled, again and again; the worker has been started."""
        started, done = time.monotonic(), 0
        for message in self._messages(count, size):
            self._peer.push(message)
            self._heard.get(timeout=30)
            done += 1
            if time.monotonic() > started + seconds:
                break
        return {"count": done, "seconds": time.monotonic() - started}

    def do_seed(self, finished: int, size: int) -> dict[str, Any]:
        return {"finished": self._peer.seed(finished, json.dumps(payload(0, size)))}

    def do_cycle(self, **given: Any) -> dict[str, Any]:
        return self._peer.cycle(**given)


def runs_on(clients: tuple[str, ...]) -> str:
    """The language and the drivers below a system, with their versions."""
    known = [f"Python {platform.python_version()}", f"SQLite {sqlite3.sqlite_version}"]
    return ", ".join([*known, *(f"{name} {version(name)}" for name in clients)])


def serve(peer: Peer) -> None:
    """Be the adapter of a system."""
    Service(peer).run()
