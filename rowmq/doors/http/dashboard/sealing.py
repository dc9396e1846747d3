"""What this server writes down for itself in a browser: sealed, so that nobody else can have written it."""

import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode

TAG = 32
LONGEST = 4096


class Sealing:
    """Seals bytes for one purpose each: what was sealed as a session never passes for a notice.

    >>> sealing = Sealing(b"key")
    >>> sealing.open("notice", sealing.seal("notice", b"purged"))
    b'purged'
    >>> sealing.open("session", sealing.seal("notice", b"purged")) is None
    True
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal(self, purpose: str, said: bytes) -> str:
        """The bytes as text that a cookie can carry."""
        return urlsafe_b64encode(self.tag(purpose, said) + said).decode().rstrip("=")

    def open(self, purpose: str, text: str) -> bytes | None:
        """The bytes, or None if we never sealed them for that."""
        if len(text) > LONGEST or not text.isascii():
            return None
        try:
            sealed = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            return None
        tag, said = sealed[:TAG], sealed[TAG:]
        return said if hmac.compare_digest(tag, self.tag(purpose, said)) else None

    def tag(self, purpose: str, said: bytes) -> bytes:
        """What only who has the key can say about the bytes."""
        return hmac.digest(self._key, purpose.encode() + b"\0" + said, hashlib.sha256)
