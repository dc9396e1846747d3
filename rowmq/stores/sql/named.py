"""Claims that have a name, so that a restarted job finds what it held."""

import json
import secrets
from collections.abc import Sequence
from datetime import timedelta
from itertools import starmap

from rowmq.core.clock import span
from rowmq.core.delivery import Adopted, Claim, Delivery, Want
from rowmq.stores.sql.claim import Claiming
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.leasing import renew
from rowmq.stores.sql.lookup import queues_by_id
from rowmq.stores.sql.rows import Kept, Owing, columns_of, deliveries


def claim_named(cursor: Cursor, claiming: Claiming, kept: Kept, want: Want) -> list[Delivery]:
    """Claim under the want's name; a name that has claimed gets what is left of that."""
    row = cursor.one("claim_find", name=want.name)
    if row is not None:
        owner = kept if row[0] == kept.id else queues_by_id(cursor, [row[0]], kept.now)[row[0]]
        return left_of(cursor, owner, row[1], json.loads(row[3]))
    token = secrets.token_bytes(16)
    deliveries = claiming.choosy(want, token)
    if not deliveries and want.again:
        return []
    seqs = json.dumps([delivery.receipt.seq for delivery in deliveries])
    cursor.run("claim_put", name=want.name, queue=kept.id, token=token, now=kept.now, seqs=seqs)
    return deliveries


def left_of(cursor: Cursor, kept: Kept, token: bytes, seqs: Sequence[int]) -> list[Delivery]:
    """The messages among these that still carry the token, in the order they were claimed, as they are."""
    found = _carrying(cursor, token, seqs)
    due = [found[seq] for seq in seqs if seq in found]
    if not due:
        return []
    return deliveries(columns_of(due), [row.time for row in due], kept.queue, token, attempts=0)


def _carrying(cursor: Cursor, token: bytes, seqs: Sequence[int]) -> dict[int, Owing]:
    rows = cursor.all("held_by", seqs=list(seqs), token=token) if seqs else []
    return {row.seq: row for row in starmap(Owing, rows)}


def claimed_seqs(cursor: Cursor, claim: Claim) -> list[int] | None:
    """What a named claim got at first; None if it is not held with this token."""
    row = cursor.one("claim_find", name=claim.name)
    if row is None or row[1] != claim.token:
        return None
    seqs: list[int] = json.loads(row[3])
    return seqs


def adopt(cursor: Cursor, name: str, lease: timedelta | None, now: int | None) -> Adopted | None:
    """Give a named claim a new token, fencing its former holder, and renew what is left of it."""
    row = cursor.one("claim_lock", name=name)
    if row is None:
        return None
    queue, old, runs, text = row
    seqs: list[int] = json.loads(text)
    kept = queues_by_id(cursor, [queue], now).get(queue)
    token = secrets.token_bytes(16)
    cursor.run("claim_adopt", name=name, token=token)
    claim = Claim(name, token)
    if kept is None or not seqs:
        return Adopted(claim, runs + 1, [])
    cursor.run("readdress", seqs=seqs, old=old, token=token)
    left = list(_carrying(cursor, token, seqs).values())
    renew(cursor, left, span(lease or kept.queue.lease), kept.now)
    return Adopted(claim, runs + 1, left_of(cursor, kept, token, seqs))
