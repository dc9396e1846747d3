"""The digests that clients compare with their own."""

import base64
import hashlib
import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

TEXT = b"\x01"
BINARY = b"\x02"


class Attribute(NamedTuple):
    """A message attribute: its full data type, and its value as text (base64 if it is binary).

    >>> Attribute("Number.float", "1.5").binary
    False
    """

    type: str
    value: str

    @property
    def binary(self) -> bool:
        """Whether the value is bytes."""
        return self.type.partition(".")[0] == "Binary"

    @property
    def raw(self) -> bytes:
        """The value's bytes."""
        return base64.b64decode(self.value) if self.binary else self.value.encode()


def of_body(body: bytes) -> str:
    """The digest of a message's body.

    >>> of_body(b"hello")
    '5d41402abc4b2a76b9719d911017c592'
    """
    return hashlib.md5(body, usedforsecurity=False).hexdigest()


def of_attributes(attributes: Mapping[str, Attribute]) -> str | None:
    """The digest of message attributes; None if there are none.

    >>> of_attributes({"attribName1": Attribute("String", "attribValue 1")})
    '19e27d4e946b072f3f58da80d94fd778'
    """
    if not attributes:
        return None
    return of_body(b"".join(piece for each in sorted(attributes.items()) for piece in _pieces(*each)))


def _pieces(name: str, attribute: Attribute) -> Iterable[bytes]:
    yield _counted(name.encode())
    yield _counted(attribute.type.encode())
    yield BINARY if attribute.binary else TEXT
    yield _counted(attribute.raw)


def _counted(raw: bytes) -> bytes:
    return struct.pack(">I", len(raw)) + raw
