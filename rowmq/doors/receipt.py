"""Receipts on the wire: bound to their queue, opaque, and checked before the store is asked."""

import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple

from rowmq.core.delivery import Receipt

TAG = 16
TOKEN = 16
LONGEST = 2048


class Opened(NamedTuple):
    """A receipt that this server, or another with its key, has given out."""

    receipt: Receipt
    queue: str


class Seal:
    """Writes and reads receipts. The key is what makes a receipt of one queue useless for another's name.

    The store's token alone decides who holds a message; the seal tells, without asking the store, which queue
    a receipt is of, and so whether its bearer has any business there.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def token(self, token: bytes, queue: str) -> str:
        """A claim's token as text that carries its queue."""
        said = token + queue.encode()
        return urlsafe_b64encode(self._tag(said) + said).decode().rstrip("=")

    def open_token(self, text: str) -> tuple[bytes, str] | None:
        """The token and its queue, or None if we never wrote that."""
        if len(text) > LONGEST:
            return None
        try:
            sealed = urlsafe_b64decode(text + "=" * (-len(text) % 4))
            tag, said = sealed[:TAG], sealed[TAG:]
            queue = said[TOKEN:].decode()
        except ValueError:
            return None
        return (said[:TOKEN], queue) if queue and hmac.compare_digest(tag, self._tag(said)) else None

    def text(self, receipt: Receipt, queue: str) -> str:
        """A receipt as text."""
        return f"{receipt.seq}.{self.token(receipt.token, queue)}"

    def open(self, text: str) -> Opened | None:
        """The receipt and its queue, or None if we never wrote that."""
        seq, dot, sealed = text.partition(".")
        opened = self.open_token(sealed) if dot and len(seq) <= len(str(2**63)) else None
        if opened is None or not (seq.isascii() and seq.isdigit()) or int(seq) >= 2**63:
            return None
        return Opened(Receipt(int(seq), opened[0]), opened[1])

    def _tag(self, said: bytes) -> bytes:
        return hmac.digest(self._key, said, hashlib.sha256)[:TAG]
