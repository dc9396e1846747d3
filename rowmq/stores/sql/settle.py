"""Settling and extending: every change compares the receipt's token with the row's."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import starmap
from operator import itemgetter

from rowmq.core.clock import moment, span
from rowmq.core.delivery import Claim, Receipt, Settlement
from rowmq.core.outcome import Ack, Bury, Outcome, Release, Retry, Settled, settled_as
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.ending import bury, fail, finish, keep_results
from rowmq.stores.sql.leasing import renew
from rowmq.stores.sql.lookup import clock, queues_by_id
from rowmq.stores.sql.named import claimed_seqs
from rowmq.stores.sql.rows import Kept, Owing

Answers = dict[Receipt, Settled]


def settle(cursor: Cursor, settlements: Sequence[Settlement], now: int | None) -> list[Settled]:
    """Settle in order; acks of plain messages go together in one statement."""
    receipts = [receipt for receipt, _ in settlements]
    several = len(set(map(itemgetter(0), receipts))) < len(settlements)
    if several or set(map(type, receipts)) != {Receipt}:  # one message twice, or a whole claim: order matters
        return [_settle_one(cursor, settlement, now) for settlement in settlements]
    return _settle_many(cursor, settlements, now, alone=not cursor.joined)  # type: ignore[arg-type]


def _settle_one(cursor: Cursor, settlement: Settlement, now: int | None) -> Settled:
    if isinstance(settlement.receipt, Receipt):
        return _settle_many(cursor, [(settlement.receipt, settlement.outcome)], now)[0]
    seqs = claimed_seqs(cursor, settlement.receipt)
    if seqs is None:
        return Settled.LOST
    receipts = [Receipt(seq, settlement.receipt.token) for seq in seqs]
    answers = set(_settle_many(cursor, [(receipt, settlement.outcome) for receipt in receipts], now))
    if Settled.SETTLED in answers or not answers:
        return Settled.SETTLED
    return Settled.REPEATED if Settled.REPEATED in answers else Settled.LOST


def _settle_many(
    cursor: Cursor, settlements: Sequence[tuple[Receipt, Outcome]], now: int | None, *, alone: bool = False
) -> list[Settled]:
    acks = [receipt for receipt, outcome in settlements if type(outcome) is Ack and outcome.result is None]
    alone = alone and len(acks) == len(settlements)
    done = cursor.dialect.ack(cursor, acks, now, alone=alone) if acks else set()
    if len(done) == len(settlements):
        return [Settled.SETTLED] * len(settlements)
    rest = {receipt: outcome for receipt, outcome in settlements if receipt.seq not in done}
    answers = _judge(cursor, rest, now)
    return [Settled.SETTLED if receipt.seq in done else answers[receipt] for receipt, _ in settlements]


def _judge(cursor: Cursor, outcomes: dict[Receipt, Outcome], now: int | None) -> Answers:
    """Settle one by one what is not a plain ack."""
    held = hold(cursor, outcomes, now)
    by_queue: dict[int, list[tuple[Owing, Outcome]]] = defaultdict(list)
    queues: dict[int, Kept] = {}
    for receipt, (row, kept) in held.items():
        queues[kept.id] = kept
        by_queue[kept.id].append((row, settled_as(outcomes[receipt], row.owed, kept.queue, kept.now)))
    for queue, judged in by_queue.items():
        _apply(cursor, judged, queues[queue])
        if any(row.group_id is not None or not isinstance(outcome, Ack) for row, outcome in judged):
            cursor.pushed.add(queue)  # to be claimed again, or to make way for the next of its group
    gone = [receipt for receipt in outcomes if receipt not in held]
    return dict.fromkeys(held, Settled.SETTLED) | _finished_before(cursor, gone, outcomes)


def hold(cursor: Cursor, receipts: Iterable[Receipt], now: int | None) -> dict[Receipt, tuple[Owing, Kept]]:
    """Lock the messages whose receipt still holds. In a fifo queue a receipt ends with its lease."""
    rows = {
        row.seq: row
        for row in starmap(Owing, cursor.all("hold", seqs=sorted(receipt.seq for receipt in receipts)))
    }
    queues = queues_by_id(cursor, {row.queue for row in rows.values()}, now)
    held = {}
    for receipt in receipts:
        row = rows.get(receipt.seq)
        if row is None or row.token != receipt.token or row.queue not in queues:
            continue
        kept = queues[row.queue]
        if not (kept.queue.fifo and row.time <= kept.now):
            held[receipt] = (row, kept)
    return held


def _apply(cursor: Cursor, judged: Sequence[tuple[Owing, Outcome]], kept: Kept) -> None:
    """Do what was decided for messages of one queue."""
    now = kept.now
    acked = [(row, outcome.result) for row, outcome in judged if isinstance(outcome, Ack)]
    if acked:
        finish(cursor, [row for row, _ in acked], kept, now)
        keep_results(cursor, acked)
    failed = [(row, outcome) for row, outcome in judged if isinstance(outcome, Retry | Bury)]
    fail(cursor, [(row, outcome.error, now) for row, outcome in failed if outcome.error is not None], kept)
    bury(cursor, [(row, outcome.reason) for row, outcome in failed if isinstance(outcome, Bury)], kept, now)
    _postpone(cursor, judged, kept)


def _postpone(cursor: Cursor, judged: Iterable[tuple[Owing, Outcome]], kept: Kept) -> None:
    """Let what was retried or released come back, those with the same delay together."""
    chosen: dict[tuple[timedelta, int], list[int]] = defaultdict(list)
    for row, outcome in judged:
        if isinstance(outcome, Retry | Release):
            refund = 1 if isinstance(outcome, Release) else 0
            chosen[outcome.delay, refund].append(row.seq)
    for (delay, refund), seqs in chosen.items():
        cursor.run("postpone", seqs=seqs, at=kept.now + span(delay), refund=refund)
        if not delay:
            cursor.pushed.add(kept.id)


def _finished_before(
    cursor: Cursor, receipts: Sequence[Receipt], outcomes: dict[Receipt, Outcome]
) -> Answers:
    """Lost, unless it is an ack and this very token had acked before."""
    acked = [receipt.seq for receipt in receipts if isinstance(outcomes[receipt], Ack)]
    won = set(cursor.all("acked_by", seqs=acked)) if acked else set()
    return {receipt: Settled.REPEATED if tuple(receipt) in won else Settled.LOST for receipt in receipts}


def extend(
    cursor: Cursor, receipts: Sequence[Receipt | Claim], lease: timedelta, now: int | None
) -> list[datetime | None]:
    """Renew leases, of single messages together and of whole claims one by one."""
    single = [receipt for receipt in receipts if isinstance(receipt, Receipt)]
    ends = _renewed(cursor, hold(cursor, single, now), lease) if single else {}
    return [
        (moment(ends[receipt]) if receipt in ends else None)
        if isinstance(receipt, Receipt)
        else _extend_claim(cursor, receipt, lease, now)
        for receipt in receipts
    ]


def _extend_claim(cursor: Cursor, claim: Claim, lease: timedelta, now: int | None) -> datetime | None:
    seqs = claimed_seqs(cursor, claim)
    if seqs is None:
        return None
    _renewed(cursor, hold(cursor, [Receipt(seq, claim.token) for seq in seqs], now) if seqs else {}, lease)
    return moment(clock(cursor, now) + span(lease))


def _renewed(cursor: Cursor, held: dict[Receipt, tuple[Owing, Kept]], lease: timedelta) -> dict[Receipt, int]:
    """Renew the leases of messages held, and tell their new ends."""
    now = next(iter(held.values()))[1].now if held else 0
    ends = renew(cursor, [row for row, _ in held.values()], span(lease), now)
    return {receipt: ends[receipt.seq] for receipt in held}
