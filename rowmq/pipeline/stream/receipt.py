"""Receipts as text, in a column of a stream."""

from rowmq.core.delivery import Receipt
from rowmq.core.errors import InvalidSetting


def receipt_text(receipt: Receipt) -> str:
    """A receipt as the column ``receipt`` has it."""
    return f"{receipt.seq}.{receipt.token.hex()}"


def receipt_from(text: str) -> Receipt:
    """The receipt that was written so. Raises InvalidSetting."""
    seq, _, token = text.partition(".")
    try:
        return Receipt(int(seq), bytes.fromhex(token))
    except ValueError:
        raise InvalidSetting(f"{text[:80]!r} is no receipt: take it from the column of a stream") from None
