"""What holders do with what they hold: extend it, settle it, or take over a whole claim."""

from datetime import datetime, timedelta
from secrets import token_bytes

from rowmq.core.clock import moment, span
from rowmq.core.delivery import Adopted, Claim, Receipt, Settlement
from rowmq.core.outcome import Ack, Bury, Outcome, Release, Retry, Settled, State, lease_end, settled_as
from rowmq.stores.memory.claim import TOKEN_BYTES, delivery, left_of
from rowmq.stores.memory.row import Pending
from rowmq.stores.memory.tables import Tables


def extend(tables: Tables, receipt: Receipt | Claim, lease: timedelta, now: int) -> datetime | None:
    """Let the lease end that long from now; the new end, or None if the receipt is lost."""
    if isinstance(receipt, Claim):
        return _extend_claim(tables, receipt, lease, now)
    row = tables.holding(receipt.seq, receipt.token, now)
    if row is None:
        return None
    row.time = lease_end(now, span(lease), row.deadline)
    return moment(row.time)


def settle(tables: Tables, settlement: Settlement, now: int) -> Settled:
    """Let a settlement count, if its receipt does."""
    receipt, outcome = settlement
    if isinstance(receipt, Claim):
        return _settle_claim(tables, receipt, outcome, now)
    row = tables.holding(receipt.seq, receipt.token, now)
    if row is None:
        repeated = isinstance(outcome, Ack) and _acked(tables, receipt)
        return Settled.REPEATED if repeated else Settled.LOST
    _apply(tables, row, outcome, now)
    return Settled.SETTLED


def adopt(tables: Tables, name: str, lease: timedelta | None, now: int) -> Adopted | None:
    """Take over a named claim under a new token."""
    claim = tables.claims.get(name)
    if claim is None:
        return None
    rows, claim.token = left_of(tables, claim), token_bytes(TOKEN_BYTES)
    claim.runs += 1
    for row in rows:
        row.token = claim.token
        row.time = lease_end(now, span(lease or tables.queues[row.queue].lease), row.deadline)
    return Adopted(Claim(name, claim.token), claim.runs, [delivery(tables, row) for row in rows])


def _extend_claim(tables: Tables, claim: Claim, lease: timedelta, now: int) -> datetime | None:
    known = tables.claims.get(claim.name)
    if known is None or known.token != claim.token:
        return None
    for seq in known.seqs:
        extend(tables, Receipt(seq, claim.token), lease, now)
    return moment(now + span(lease))


def _settle_claim(tables: Tables, claim: Claim, outcome: Outcome, now: int) -> Settled:
    known = tables.claims.get(claim.name)
    if known is None or known.token != claim.token:
        return Settled.LOST
    receipts = [Receipt(seq, claim.token) for seq in known.seqs]
    answers = {settle(tables, Settlement(receipt, outcome), now) for receipt in receipts}
    if Settled.SETTLED in answers or not receipts:
        return Settled.SETTLED
    return Settled.REPEATED if Settled.REPEATED in answers else Settled.LOST


def _acked(tables: Tables, receipt: Receipt) -> bool:
    """Whether the message is done because this receipt's holder said so."""
    finished = tables.finished.get(receipt.seq)
    return finished is not None and finished.state == State.DONE and finished.token == receipt.token


def _apply(tables: Tables, row: Pending, said: Outcome, now: int) -> None:
    outcome = settled_as(said, row.owed, tables.queues[row.queue], now)
    if isinstance(outcome, Retry | Bury) and outcome.error is not None:
        tables.fail(row, outcome.error, now)
    match outcome:
        case Ack():
            tables.finish(row, State.DONE, None, now, result=outcome.result)
        case Retry():
            tables.put_back(row, now + span(outcome.delay))
        case Release():
            row.attempts -= 1
            tables.put_back(row, now + span(outcome.delay))
        case Bury():
            tables.bury(row, outcome.reason, now)
