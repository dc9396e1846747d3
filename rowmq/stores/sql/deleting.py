"""Deleting messages for good, always with a line in the ledger."""

from collections.abc import Collection

from rowmq.stores.sql.cursor import Cursor

CHUNK = 10_000
"""How many messages one transaction deletes at most."""


def erase(cursor: Cursor, queue: str, action: str, seqs: Collection[int], now: int) -> None:
    """Delete messages, wherever they are in their life, and note it."""
    if not seqs:
        return
    chosen = sorted(seqs)
    for table in ("pending", "outcomes", "failures", "messages"):
        cursor.run(f"erase_{table}", seqs=chosen)
    note(cursor, queue, action, len(chosen), chosen[0], chosen[-1], now)


def note(cursor: Cursor, queue: str, action: str, count: int, first: int, last: int, now: int) -> None:
    """Write a ledger line."""
    cursor.run("ledger_add", at=now, queue=queue, action=action, count=count, first_seq=first, last_seq=last)
