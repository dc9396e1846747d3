"""From what a server has answered to core values."""

from collections.abc import Sequence

from rowmq.core.delivery import Delivery, Receipt
from rowmq.core.history import Record
from rowmq.stores.remote.claim_shapes import Claimed
from rowmq.stores.remote.history_shapes import RecordShape
from rowmq.stores.remote.payload import received
from rowmq.stores.remote.writing import PLAIN


def deliveries(shapes: Sequence[Claimed]) -> list[Delivery]:
    """Claimed messages."""
    return [delivery(each) for each in shapes]


def receipt(text: str) -> Receipt:
    """A receipt: the server's own text is its token."""
    seq, _, token = text.partition(".")
    return Receipt(int(seq), token.encode())


def delivery(shape: Claimed) -> Delivery:
    """A claimed message."""
    seq, token = receipt(shape.receipt)
    return Delivery(
        seq,
        token,
        shape.queue,
        bytes.fromhex(shape.id.replace("-", "")),
        received(shape.payload, shape.base64) or b"",
        shape.binary is True,
        shape.metadata,
        shape.attempt,
        shape.max_attempts,
        shape.receives,
        shape.priority,
        shape.group,
        shape.created_at,
        shape.deadline,
        shape.lease_until,
        shape.source,
    )


def record(shape: RecordShape) -> Record:
    """A message in whatever state it is."""
    return Record(
        **{name: getattr(shape, name) for name in PLAIN},
        body=received(shape.payload, shape.base64),
        result=received(shape.result, shape.result_base64),
    )
