"""Databases laid out, and filled, as other systems do it."""

from __future__ import annotations

import base64
import json
import sqlite3
from typing import TYPE_CHECKING
from uuid import UUID

from tests.servers import connect_mysql, connect_postgres, connect_redis

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

IDS = [UUID(int=number << 120 | 0x4000 << 64 | 8 << 60 | number) for number in (3, 90, 160, 250, 7, 20)]
"""Of messages in the order in which they were made, which is not the order of the ids."""

PGQ = """
CREATE TABLE "my: queue" (
    id uuid DEFAULT gen_random_uuid() NOT NULL PRIMARY KEY, created_at timestamptz DEFAULT now() NOT NULL,
    started_at timestamptz, locked_until timestamptz, scheduled_for timestamptz, processed_at timestamptz,
    consumed_count integer DEFAULT 0 NOT NULL, error_detail text,
    payload jsonb NOT NULL, metadata jsonb NOT NULL
);
CREATE TABLE other (id uuid PRIMARY KEY, payload jsonb);
"""
PGQ_ROW = """
INSERT INTO "my: queue" (id, created_at, locked_until, scheduled_for, processed_at, started_at,
    consumed_count, error_detail, payload, metadata)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, '{"n": 12345678901234567890.10}', '{"k": "v", "m": 1}')
"""
GQS = """
CREATE TABLE jobs (
    id uuid NOT NULL, created_at TIMESTAMP NOT NULL DEFAULT current_timestamp,
    updated_at TIMESTAMP NOT NULL DEFAULT current_timestamp, status INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0, locked_until TIMESTAMP DEFAULT null, next_run_at TIMESTAMP NOT NULL,
    metadata jsonb, payload blob, PRIMARY KEY (id)
);
"""
HQ = """
CREATE TABLE hq_queues (
    id blob PRIMARY KEY, name text NOT NULL, max_attempts integer NOT NULL DEFAULT -1,
    visibility_timeout_seconds integer NOT NULL DEFAULT -1,
    inserted_at datetime NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'NOW')),
    updated_at datetime NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'NOW'))
);
CREATE TABLE {table} (
    id blob PRIMARY KEY, args text NOT NULL, queue_id integer NOT NULL REFERENCES hq_queues (id),
    attempts integer NOT NULL DEFAULT 0,
    inserted_at datetime NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'NOW')),
    updated_at datetime NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'NOW')),
    locked_at datetime, completed_at datetime, failed_at datetime
);
"""
GQ = """
CREATE TABLE message (
    id INT AUTO_INCREMENT PRIMARY KEY, payload BLOB NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    ready_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, retries INT DEFAULT 0, INDEX ready_at (ready_at ASC)
)
"""
GQ_DESCRIBED = """
CREATE TABLE message (
    id INTEGER PRIMARY KEY, status TEXT, payload BLOB, consumer TEXT, deadline TIMESTAMP,
    created TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated TIMESTAMP DEFAULT CURRENT_TIMESTAMP
)
"""
MADE = [f"2026-01-02 03:04:0{second}.123456" for second in range(6)]
SOON = "2999-01-01 00:00:00"


def pgq(url: str) -> str:
    """Waiting, tried before, held, scheduled, done and discarded."""
    rows = [
        (None, None, None, None, 0, None),
        (None, None, None, MADE[1], 2, "no luck"),
        (SOON, None, None, MADE[2], 1, None),
        (None, SOON, None, None, 0, None),
        (None, None, MADE[5], MADE[4], 1, None),
        (None, None, MADE[5], MADE[5], 3, "give up"),
    ]
    with connect_postgres(url) as connection:
        connection.execute("SET timezone = 'UTC'")
        for statement in PGQ.strip().split(";\n"):
            connection.execute(statement.encode())
        for id, made, row in zip(IDS, MADE, rows, strict=True):
            connection.execute(PGQ_ROW, (id, made, *row))
    return url


def gqs(folder: Path, ids: Sequence[UUID] = IDS) -> str:
    """Pending, delayed, processing, expired, done and dead."""
    zone = "123+00:00"
    rows = [
        (1, 0, None, MADE[0] + zone),
        (1, 1, None, SOON + "+00:00"),
        (2, 1, SOON + "+00:00", MADE[2] + zone),
        (2, 2, MADE[3] + zone, MADE[3] + zone),
        (3, 1, None, MADE[4] + zone),
        (4, 5, None, MADE[5] + zone),
    ]
    with sqlite3.connect(folder / "gqs.db") as connection:
        connection.executescript(GQS)
        for id, made, (status, attempts, locked, following) in zip(ids, MADE, rows, strict=True):
            values = (
                str(id),
                made + zone,
                made + zone,
                status,
                attempts,
                locked,
                following,
                '{"k": 1}',
                b'{"a": 1}',
            )
            connection.execute("INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    connection.close()
    return f"sqlite:///{folder / 'gqs.db'}"


def hq(folder: Path, table: str = "hq_messages") -> str:
    """Unlocked, locked, locked long ago, out of attempts, complete and failed; a second queue with one."""
    first, second = UUID(int=1).bytes, UUID(int=2).bytes
    rows = [
        (0, None, None, None),
        (1, SOON, None, None),
        (1, MADE[2][:23], None, None),
        (3, None, None, None),
        (1, None, MADE[4][:23], None),
        (2, None, None, MADE[5][:23]),
    ]
    with sqlite3.connect(folder / "hq.db") as connection:
        connection.executescript(HQ.format(table=table))
        connection.execute("INSERT INTO hq_queues VALUES (?, 'emails', 3, 45, '', '')", (first,))
        connection.execute("INSERT INTO hq_queues VALUES (?, 'other', -1, -1, '', '')", (second,))
        into = f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        for id, made, (attempts, *times) in zip(IDS, MADE, rows, strict=True):
            values = (id.bytes, '{"a": 1.0}', first, attempts, made[:23], made[:23], *times)
            connection.execute(into, values)
        connection.execute(into, (UUID(int=99).bytes, "[]", second, 9, MADE[0], MADE[0], None, None, None))
    connection.close()
    return f"sqlite:///{folder / 'hq.db'}"


def gq(url: str) -> str:
    """Ready, and waiting for its next try."""
    with connect_mysql(url) as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(GQ)
        into = "INSERT INTO message (payload, created_at, ready_at, retries) VALUES (%s, %s, %s, %s)"
        cursor.execute(into, (b"\x00\xff", MADE[0][:19], MADE[0][:19], 0))
        cursor.execute(into, (b"2", MADE[1][:19], "2037-01-01 00:00:00", 2))
    return url


def gq_described(folder: Path) -> str:
    """Queued, consumed, processed and failed, as its description has it."""
    with sqlite3.connect(folder / "gq.db") as connection:
        connection.execute(GQ_DESCRIBED)
        for number, status in enumerate(("queued", "consumed", "processed", "failed")):
            values = (number + 1, status, b"%d" % number, None, SOON, MADE[number], MADE[number])
            connection.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    connection.close()
    return f"sqlite:///{folder / 'gq.db'}"


def record(number: int) -> str:
    """A record as GOMQ writes it."""
    payload = base64.b64encode(b"%d" % number).decode()
    return json.dumps(
        {"id": f"xid{number}", "timestamp": f"Fri Jan  2 03:04:{number:02} UTC 2026", "payload": payload}
    )


def gomq(url: str) -> str:
    """A key with two consumers, one of them with two peers, whose names are ambiguous; one with none."""
    with connect_redis(url) as client:
        client.sadd("SUBSCRIBED_KEYS", "QUEUE_a_b")
        client.sadd("CONSUMERS_a_b", "c", "d_e")
        client.sadd("PEERS_c", "127.0.0.1:1", "127.0.0.1:2")
        client.sadd("PEERS_d_e", "127.0.0.1:3")
        client.rpush("MESSAGES_a_b_c_127.0.0.1:1", record(1), record(2))
        client.rpush("MESSAGES_a_b_c_127.0.0.1:2", record(2), record(3))
        client.rpush("QUEUE_a_b", record(4))
        client.rpush("QUEUE_kept", record(5), record(6))
    return url
