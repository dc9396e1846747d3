"""How much of Redis's speed is left to callers of its store.

    python -m benchmarks.engine --store redis

On a private Redis that has every write on the disk before it answers. Beside the Store
runs the least that can be called a queue: three scripts of a few lines that know of leases and tokens and of
nothing else (no history, groups, priorities, dedup keys, counts), called through the bare driver.
"""

from __future__ import annotations

import secrets
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.engine import Calls, Job, Times, in_bulk, job, prepare, summary, timed
from rowmq.stores import open_store
from tests.servers import connect_redis, fresh_redis_prefix

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.engine import Result

LEASE = 6 * 3600 * 1_000_000
PUSH = """
for place = 2, #ARGV, 2 do
  redis.call('HSET', KEYS[1] .. ':bodies', ARGV[place], ARGV[place + 1])
  redis.call('ZADD', KEYS[1] .. ':due', ARGV[1], ARGV[place])
end
"""
CLAIM = """
local ids = redis.call('ZRANGE', KEYS[1] .. ':due', '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, ARGV[2])
local found = {}
for place, id in ipairs(ids) do
  redis.call('ZADD', KEYS[1] .. ':due', ARGV[3], id)
  redis.call('HSET', KEYS[1] .. ':tokens', id, ARGV[4])
  found[2 * place - 1], found[2 * place] = id, redis.call('HGET', KEYS[1] .. ':bodies', id)
end
return found
"""
SETTLE = """
local count = 0
for place = 2, #ARGV do
  if redis.call('HGET', KEYS[1] .. ':tokens', ARGV[place]) == ARGV[1] then
    redis.call('ZREM', KEYS[1] .. ':due', ARGV[place])
    redis.call('HDEL', KEYS[1] .. ':tokens', ARGV[place])
    redis.call('HDEL', KEYS[1] .. ':bodies', ARGV[place])
    count = count + 1
  end
end
return count
"""


def micros() -> int:
    """This machine's clock."""
    return time.time_ns() // 1000


class Bare:
    """The bare loop: three small scripts, each called for the next batch."""

    def __init__(self, client: Any, key: str, work: Job) -> None:
        self._push, self._claim, self._settle = map(client.register_script, (PUSH, CLAIM, SETTLE))
        self._left = partial(client.zcard, f"{key}:due")
        self._keys, self._limit, self._batches = [key], work.want.limit, iter(work.batches)
        self._token, self._found = b"", list[bytes]()

    def __call__(self, phase: str) -> None:
        """Do one phase."""
        getattr(self, phase)()

    def push(self) -> None:
        """Store a batch."""
        given = [each for one in next(self._batches).messages for each in (one.id.bytes, one.body)]
        self._push(keys=self._keys, args=[micros(), *given])

    def claim(self) -> None:
        """Lease as many."""
        self._token = secrets.token_bytes(16)
        given = [micros(), self._limit, micros() + LEASE, self._token]
        self._found = self._claim(keys=self._keys, args=given)

    def settle(self) -> None:
        """Forget what is held."""
        self._settle(keys=self._keys, args=[self._token, *self._found[::2]])

    def check(self) -> None:
        """Make sure that nothing is left."""
        if self._left():
            raise RuntimeError("the bare loop left messages behind")


def run_bare(client: Any, key: str, work: Job) -> Times:
    """Pass the job through three small scripts."""
    loop = Bare(client, key, work)
    times = timed(loop, in_bulk(work)).times
    loop.check()
    return times


def run_ours(store: Any, work: Job) -> Times:
    """Pass the job through the Store."""
    prepare(store)
    times = timed(Calls(store, work), in_bulk(work)).times
    if store.queues.stats("q").done != work.messages:
        raise RuntimeError("the store left messages behind")
    return times


def compare(server: str, messages: int, size: int, rounds: int) -> Result:
    """Alternate the two ways, each going first every other time."""
    work = job(messages, size)

    def ours(url: str) -> Times:
        store = open_store(url)
        try:
            return run_ours(store, work)
        finally:
            store.close()

    def bare(url: str) -> Times:
        prefix = url.partition("prefix=")[2].partition("&")[0]
        with connect_redis(url) as client:
            return run_bare(client, f"{{{prefix}}}:bare", work)

    ways: dict[str, Callable[[str], Times]] = {"store": ours, "bare": bare}
    times: dict[str, list[Times]] = {way: [] for way in ways}
    for number in range(rounds):
        for way in sorted(ways, reverse=number % 2 == 0):
            with fresh_redis_prefix(server) as url:
                times[way].append(ways[way](url))
        said = ", ".join(f"{way} {sum(found[-1].values()):.2f} s" for way, found in times.items())
        print(f"# redis, batches of {size}, round {number + 1} of {rounds}: {said}", file=sys.stderr)
    return summary("redis", work, size, times)
