"""The limit: the store's own statements sent again through the bare driver (see benchmarks/engine.py).

Not a queue: one connection pushes, claims and settles, so it has actions of its own.

    {"do": "ready", "messages": 9, "batch": 3, "size": 200, "paced": false}    an empty place, and the loop
    {"do": "limit"}                 all of it at once: the seconds of each phase, and of CPU
    {"do": "pace", "gap": 0.1}      batch after batch in that rhythm: when each was called, returned, claimed

On Redis it is the least that can be called a queue (see benchmarks/engine_redis.py).
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

from benchmarks import engine, engine_redis
from benchmarks.places import Places
from rowmq.core.message import Batch, Message
from tests.servers import connect_redis

SETTINGS = "one connection, batches of 1000, the store's own statements and no Python around them"


def kind_of(url: str) -> str:
    """The store that a place's URL leads to; a path is SQLite."""
    return {"postgresql": "postgres", "mysql": "mysql", "redis": "redis"}.get(
        url.partition("://")[0], "sqlite"
    )


def job(messages: int, batch: int, size: int) -> engine.Job:
    """The same job as the others', with bodies of that size."""
    body = json.dumps({"n": 1, "text": "x" * max(size - 24, 0)}).encode()
    made = engine.job(messages, batch)
    bodies = [Batch("q", [Message(id=each.id, body=body) for each in one.messages]) for one in made.batches]
    return engine.Job(bodies, made.want)


class Limit:
    """A place, and the loop that is made ready there; what it has left stays until the next."""

    def __init__(self) -> None:
        self._url = ""
        self._stack = ExitStack()

    def do_describe(self) -> dict[str, Any]:
        """Which settings it has."""
        return {"version": "", "runs on": "", "settings": SETTINGS}

    def do_open(self, url: str, *, make: bool) -> dict[str, Any]:  # noqa: ARG002 - all are asked so
        """Where the places are made."""
        self._url = url
        return {}

    def do_ready(self, messages: int, batch: int, size: int, *, paced: bool) -> dict[str, Any]:
        """Make the place empty, and everything that is sent there."""
        self.close()
        work = job(messages, batch, size)
        self._order = engine.in_turn(work) if paced else engine.in_bulk(work)
        ready = self._redis if kind_of(self._url) == "redis" else self._sql
        self._loop, self._check = ready(work)
        return {}

    def _redis(self, work: engine.Job) -> tuple[engine.Loop, Callable[[], None]]:
        client = self._stack.enter_context(connect_redis(self._url))
        client.flushdb()
        loop = engine_redis.Bare(client, "{bare}:q", work)
        return loop, loop.check

    def _sql(self, work: engine.Job) -> tuple[engine.Loop, Callable[[], None]]:
        spots = Places(kind_of(self._url), self._url)
        recorded = engine.record(spots, work, self._order)
        store = self._stack.enter_context(spots.store())
        engine.prepare(store)
        loop = self._stack.enter_context(closing(engine.Replay(store, recorded)))
        return loop, partial(engine.check, store, work)

    def do_limit(self) -> dict[str, Any]:
        """Seconds of each phase, and of this process's CPU in all of them."""
        clock = engine.timed(self._loop, self._order)
        self._check()
        return {**clock.times, "cpu": clock.cpu}

    def do_pace(self, gap: float) -> dict[str, Any]:
        """Nanoseconds at which each push was called and had returned, and at which its claim had returned."""
        found, due = [], time.monotonic()
        for _ in range(len(self._order) // len(engine.PHASES)):
            time.sleep(max(0.0, due - time.monotonic()))
            due += gap * random.uniform(0.5, 1.5)  # noqa: S311 - as it is with the others
            found.append((time.monotonic_ns(), *map(self._ended, ("push", "claim"))))
            self._ended("settle")
        self._check()
        return {"paced": found}

    def _ended(self, phase: str) -> int:
        self._loop(phase)
        return time.monotonic_ns()

    def close(self) -> None:
        """Leave nothing behind."""
        self._stack.close()


def main() -> None:
    """Answer the runner."""
    with closing(Limit()) as limit:
        for line in sys.stdin:
            asked: dict[str, Any] = json.loads(line)
            print(json.dumps(getattr(limit, f"do_{asked.pop('do')}")(**asked)), flush=True)


if __name__ == "__main__":
    main()
