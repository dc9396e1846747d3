"""What holders do with what they hold, as scripts take it."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from rowmq.core.clock import moment, span
from rowmq.core.delivery import Claim, Receipt, Settlement
from rowmq.core.outcome import ACK, Ack, Bury, Outcome, Release, Settled
from rowmq.stores.redis.claim import TOKEN_BYTES
from rowmq.stores.redis.server import Argument, Server
from rowmq.stores.redis.values import SEQ_DIGITS, optional, seq_text, stamp

MOST = 1000
"""How many one script takes."""
LONGER = 10**SEQ_DIGITS
"""The first seq of more digits."""
ANSWERS = {ord(each[0]): each for each in Settled}


def extend(
    server: Server, receipts: Sequence[Receipt | Claim], lease: timedelta, now: datetime | None
) -> list[datetime | None]:
    """Renew leases."""
    given: list[Argument] = [stamp(now), span(lease)]
    for receipt in receipts:
        given += _held(receipt)
    ends = server.call("extend", *given)
    return [moment(int(end)) if end else None for end in ends]


def settle(server: Server, settlements: Sequence[Settlement], now: datetime | None) -> list[Settled]:
    """Settle, some with one script and the rest with the next. Only acks can be repeated blindly."""
    answers: list[Settled] = []
    for start in range(0, len(settlements), MOST):
        some = settlements[start : start + MOST]
        acks = all(isinstance(outcome, Ack) for _, outcome in some)
        answers += map(ANSWERS.__getitem__, server.call("settle", stamp(now), *_given(some), repeatable=acks))
    return answers


def _given(some: Sequence[Settlement]) -> list[Argument]:
    """Plain acks, which nearly all are, as one text; others one by one."""
    plain = [_short(receipt) for receipt, outcome in some if outcome is ACK]
    if len(plain) == len(some) and all(plain):
        return ["acks", b"".join(plain)]
    return [each for receipt, outcome in some for each in (*_held(receipt), *_said(outcome))]


def _short(receipt: Receipt | Claim) -> bytes:
    """A receipt of the form that ours have, as a text of one length; nothing for any other."""
    if isinstance(receipt, Claim) or len(receipt.token) != TOKEN_BYTES:
        return b""
    return b"%0*d%b" % (SEQ_DIGITS, receipt.seq, receipt.token) if receipt.seq < LONGER else b""


def _held(receipt: Receipt | Claim) -> tuple[Argument, ...]:
    if isinstance(receipt, Claim):
        return "claim", receipt.name, receipt.token
    return "receipt", seq_text(receipt.seq), receipt.token


def _said(outcome: Outcome) -> tuple[Argument, ...]:
    if isinstance(outcome, Ack):
        return "ack", optional(outcome.result), b""
    if isinstance(outcome, Release):
        return "release", span(outcome.delay), b""
    error = optional(None if outcome.error is None else outcome.error.encode())
    if isinstance(outcome, Bury):
        return "bury", str(outcome.reason), error
    return "retry", span(outcome.delay), error
