"""What goes back to a caller."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
NDJSON = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, a body (whole, or in pieces as they come), its type, and other headers in lower case."""

    status: int = 200
    body: bytes | AsyncIterator[bytes] = b""
    type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


def text(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer in plain text."""
    return Answer(status, sentence.encode(errors="backslashreplace"), TEXT, headers or {})
