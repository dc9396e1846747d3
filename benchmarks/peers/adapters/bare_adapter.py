"""The limit: the store's own statements sent again through the bare driver (see benchmarks/engine.py).

Not a queue, so it has an action of its own: {"do": "limit", "messages": 9, "batch": 3, "size": 200} answers
with the seconds of pushing, claiming and settling all of them, batch by batch, in one connection. On Redis it
is the least that can be called a queue (see benchmarks/engine_redis.py).
"""

from __future__ import annotations

import json
import sys
from typing import Any

from benchmarks import engine, engine_redis
from benchmarks.places import Places
from rowmq.core.message import Batch, Message
from tests.servers import connect_redis


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


def limit(url: str, messages: int, batch: int, size: int) -> engine.Times:
    """Seconds of each phase."""
    work = job(messages, batch, size)
    if kind_of(url) == "redis":
        with connect_redis(url) as client:
            client.ping()
            return engine.undisturbed(lambda it: engine_redis.run_bare(it, "{bare}:q", work), client)
    spots = Places(kind_of(url), url)
    recorded = engine.record(spots, work)
    with spots.store() as store:
        engine.prepare(store)
        times = engine.undisturbed(lambda it: engine.run_bare(it, recorded), store)
        engine.check(store, work)
    return times


def main() -> None:
    """Answer the runner."""
    url = ""
    for line in sys.stdin:
        asked: dict[str, Any] = json.loads(line)
        action = asked.pop("do")
        answer: dict[str, Any] = {}
        if action == "describe":
            answer = {
                "version": "",
                "runs on": "",
                "settings": "one connection, batches of 1000, the store's own statements and no Python around"
                " them",
            }
        elif action == "open":
            url = asked["url"]
        else:
            answer = dict(limit(url, **asked))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
