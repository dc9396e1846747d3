"""pgmq's SQL (shipped in its Python package, no extension) through its client: no workers, no handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
from pgmq import PGMQueue
from pgmq.install import get_embedded_install_sql, get_embedded_sql_version

from benchmarks.peers.adapters.peer import PullPeer
from benchmarks.peers.adapters.serve import serve

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCH = 1000
"""Its own benchmark has 100; of 100 and 1000 this was the faster here."""


class Pgmq(PullPeer):
    """Read a batch, archive a batch: archive, not delete, because the history is kept."""

    clients = ("pgmq", "psycopg")

    def describe(self) -> dict[str, Any]:
        return {
            "version": f"SQL {get_embedded_sql_version()}",
            "settings": f"send_batch, read({BATCH}) and archive_batch in one loop, as its README has it for"
            " batches; archived, not deleted, because history is kept; logged tables; runs no"
            " handler; asks again after 1 ms when empty",
        }

    def open(self, url: str, *, make: bool) -> None:
        if make:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(get_embedded_install_sql().encode())
        self.queue = PGMQueue(conn_string=url, init_extension=False, pool_size=2)
        if make:
            self.queue.create_queue("q")

    def push(self, message: dict[str, Any]) -> None:
        self.queue.send("q", message)

    def push_many(self, messages: Sequence[dict[str, Any]]) -> None:
        self.queue.send_batch("q", list(messages))

    def take(self) -> list[int]:
        found = self.queue.read_batch("q", vt=3600, batch_size=BATCH) or []
        if found:
            self.queue.archive_batch("q", [each.msg_id for each in found])
        return [each.message["n"] for each in found]

    def left(self) -> int:
        with self.queue.pool.connection() as connection:
            row = connection.execute("SELECT count(*) FROM pgmq.q_q").fetchone()
        return int(row[0])

    def seed(self, finished: int, body: str) -> int:
        """Messages in the archive."""
        with self.queue.pool.connection() as connection:
            connection.execute(
                "INSERT INTO pgmq.a_q (msg_id, read_ct, enqueued_at, vt, message)"
                " SELECT -n, 1, now(), now(), %s::jsonb FROM generate_series(1, %s) n",
                (body, finished),
            )
        return finished


if __name__ == "__main__":
    serve(Pgmq())
