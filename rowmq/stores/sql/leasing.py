"""Renewing leases."""

from collections import defaultdict
from collections.abc import Sequence

from rowmq.core.outcome import lease_end
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.rows import Owing


def renew(cursor: Cursor, rows: Sequence[Owing], lease: int, now: int) -> dict[int, int]:
    """Let the leases of locked rows end that long from now, and tell the ends by seq."""
    ends = {row.seq: lease_end(now, lease, row.deadline) for row in rows}
    by_end: dict[int, list[int]] = defaultdict(list)
    for seq, end in ends.items():
        by_end[end].append(seq)
    for end, seqs in by_end.items():
        cursor.run("renew", seqs=seqs, until=end)
    return ends
