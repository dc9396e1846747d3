"""Finished messages to read with Spark, a session to read them, and the JDBC driver to compare with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

import rowmq
from rowmq.pipeline import register, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAR = Path("/usr/share/java/postgresql.jar")
"""Where Debian's libpostgresql-jdbc-java puts it."""
# Payloads of about 200 bytes; every other message has metadata, and each of these its own.
_MESSAGES = """
INSERT INTO rowmq_messages (id, queue, body, "binary", metadata, priority, created_at)
SELECT gen_random_uuid(), q.id, convert_to('{"n": ' || n || ', "text": "' || repeat('x', 170) || '"}',
       'UTF8'), false, CASE mod(n, 2) WHEN 0 THEN '{"trace":"' || md5(n::text) || '"}' END, mod(n, 3),
       1750000000000000 + n * 1000
FROM rowmq_queues q, generate_series(1, %(count)s) AS n WHERE q.name = 'q'
"""
_OUTCOMES = """
INSERT INTO rowmq_outcomes (seq, queue, state, finished_at, attempts, receives, consumer, started_at)
SELECT seq, queue, 'done', created_at + 5000, 1, 1, 'worker-' || seq % 8, created_at + 2000
FROM rowmq_messages
"""


def fill_finished(url: str, count: int) -> None:
    """Put so many finished messages into the queue ``q`` of a PostgreSQL store."""
    with rowmq.connect(url) as mq:
        mq.queue("q", retention=None)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_MESSAGES, {"count": count})
        connection.execute(_OUTCOMES)
        connection.execute("VACUUM ANALYZE")


def spark_session(cores: int) -> SparkSession:
    """A session with the JDBC driver if it is there; the JVM compiles as it does in a long-running job."""
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])  # for handlers on executors
    jars = {"spark_jars": str(JAR)} if JAR.exists() else {}
    made = session(f"local[{cores}]", name="benchmark", spark_driver_memory="2g", **jars)
    register(made)
    return made
