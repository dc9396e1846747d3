"""Receipts as callers have them: sealed, so that their queue is known before the store is asked."""

from collections.abc import Callable, Sequence
from functools import cache

from rowmq.core.delivery import Delivery, Receipt
from rowmq.doors.grpc.call import Call
from rowmq.doors.receipt import Seal
from rowmq.doors.right import Right

LARGEST_SEQ = 2**63 - 1


def sealing(seal: Seal) -> Callable[[Delivery], str]:
    """Writes receipts; those of one claim share most of the work."""
    token = cache(seal.token)
    return lambda found: f"{found.seq}.{token(found.token, found.queue)}"


def opened(call: Call, texts: Sequence[str]) -> list[Receipt | None]:
    """Receipts, None for what we never wrote. Whoever shows one needs the right to claim there."""
    token = cache(call.broker.seal.open_token)
    found = [_open(token, text) for text in texts]
    call.demand(Right.CLAIM, *{queue for each in found if each is not None for queue in each[1:]})
    return [None if each is None else each[0] for each in found]


def _open(token: Callable[[str], tuple[bytes, str] | None], text: str) -> tuple[Receipt, str] | None:
    seq, _, sealed = text.partition(".")
    known = token(sealed) if seq.isascii() and seq.isdigit() and len(seq) <= len(str(LARGEST_SEQ)) else None
    if known is None or int(seq) > LARGEST_SEQ:
        return None
    return Receipt(int(seq), known[0]), known[1]
