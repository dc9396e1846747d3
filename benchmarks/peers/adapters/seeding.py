"""Finished messages for RowMQ: by SQL where there is SQL, and by a script on Redis."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from uuid import uuid4

from sqlalchemy import text

from rowmq.core.delivery import Settlement, Want
from rowmq.core.message import Batch, Message
from rowmq.core.outcome import ACK
from rowmq.stores.redis.server import exchange
from rowmq.stores.redis.values import seq_text

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from rowmq.stores.redis.store import RedisStore

NUMBERS = {
    "sqlite": (
        "WITH RECURSIVE counted(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM counted WHERE n < {last})"
        " SELECT n FROM counted"
    ),
    "postgresql": "SELECT generate_series({first}, {last}) AS n",
    "mysql": "SELECT seq AS n FROM seq_{first}_to_{last}",
}
IDS = {
    "sqlite": "randomblob(16)",
    "postgresql": "gen_random_uuid()",
    "mysql": "UNHEX(REPLACE(UUID(), '-', ''))",
}
MESSAGES = """INSERT INTO rowmq_messages (id, queue, body, {binary}, priority, created_at)
SELECT {id}, (SELECT id FROM rowmq_queues WHERE name = 'q'), :body, false, 0, {begin} + n
FROM ({numbers}) AS numbers ORDER BY n"""
OUTCOMES = """INSERT INTO rowmq_outcomes (seq, queue, state, finished_at, attempts, receives)
SELECT seq, queue, 'done', created_at, 1, 1 FROM rowmq_messages WHERE seq > {last} ORDER BY seq"""
LAST = "SELECT coalesce(max(seq), 0) FROM rowmq_messages"
STEP = 500_000
"""Messages of one transaction."""
COPIES = b"""#!lua
-- Copies of a finished message. KEYS[1] prefix; ARGV[1] its seq, [2] how many, [3] 8 bytes for their ids
-- The id is in a row after 82 bytes of numbers, and in what was said after the lengths of 11 texts.
local prefix, seq, count, call, sub = KEYS[1], ARGV[1], tonumber(ARGV[2]), redis.call, string.sub
local queue = prefix .. 'q:' .. call('HGET', prefix .. 'queues', 'q')
local row, said = call('GET', prefix .. 'l:' .. seq), call('GET', prefix .. 'm:' .. seq)
local now, last = call('ZSCORE', queue .. ':ended', seq), call('INCRBY', prefix .. 'last_seq', count)
local values, ids, pages, ended = {}, {}, {}, {}
for n = 1, count do
  local new, id = string.format('%016.0f', last - count + n), ARGV[3] .. struct.pack('>I8', n)
  local at, even = 4 * n - 3, 2 * n
  values[at], values[at + 1] = prefix .. 'l:' .. new, sub(row, 1, 82) .. id .. sub(row, 99)
  values[at + 2], values[at + 3] = prefix .. 'm:' .. new, sub(said, 1, 44) .. id .. sub(said, 61)
  ids[even - 1], ids[even], ended[even - 1], ended[even] = id, new, now, new
  local offset = (last - count + n) % 1024
  local page = string.format('%.0f', last - count + n - offset)
  pages[page] = pages[page] or {}
  for _, part in ipairs({ 'SET', 'u1', offset, 1 }) do
    table.insert(pages[page], part)
  end
end
call('MSET', unpack(values))
call('HSET', prefix .. 'ids', unpack(ids))
for page, bits in pairs(pages) do
  call('BITFIELD', queue .. ':done:' .. page, unpack(bits))
  call('ZADD', queue .. ':done', page, page)
end
call('HINCRBY', queue .. ':counts', 'done', count)
call('ZADD', queue .. ':ended', unpack(ended))
"""
CALL = 1000
"""Copies of one script."""


def seed_sql(engine: Engine, finished: int, body: str) -> int:
    """Messages as they are after their ack, finished just now: older ones would be swept meanwhile."""
    kind, begin = engine.dialect.name, time.time_ns() // 1000 - finished
    known = {"id": IDS[kind], "binary": "`binary`" if kind == "mysql" else '"binary"', "begin": begin}
    for first in range(1, finished + 1, STEP):
        numbers = NUMBERS[kind].format(first=first, last=min(first + STEP - 1, finished))
        with engine.begin() as connection:
            last = connection.execute(text(LAST)).scalar_one()
            connection.execute(text(MESSAGES.format(numbers=numbers, **known)), {"body": body.encode()})
            connection.execute(text(OUTCOMES.format(last=last)))
    return finished


def seed_redis(store: RedisStore, finished: int, body: str) -> int:
    """One message that goes the whole way, and copies of it, each under an id and a seq of its own."""
    store.push([Batch("q", [Message(id=uuid4(), body=body.encode())])])
    ((held,),) = store.claim("q", [Want(limit=1)])
    store.settle([Settlement(held.receipt, ACK)])
    with store.server.connection() as connection:
        for made in range(1, finished, CALL):
            count, own = min(CALL, finished - made), uuid4().bytes[:8]
            exchange(connection, "EVAL", COPIES, 1, store.server.root, seq_text(held.seq), count, own)
    return finished
