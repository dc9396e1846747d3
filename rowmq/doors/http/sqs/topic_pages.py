"""SNS's lists come in pages of a hundred."""

from collections.abc import Sequence
from typing import TypeVar

from rowmq.doors.http.sqs.subscription import invalid_parameter

T = TypeVar("T")
PAGE = 100


def page_of(found: Sequence[T], token: str | None) -> tuple[Sequence[T], str | None]:
    """A page, and the token of the next one if there is one; a token is how much came before.

    >>> page_of(range(150), "100")[1], page_of(range(150), None)[1]
    (None, '100')
    """
    said = token or "0"
    if not (said.isascii() and said.isdigit()):
        raise invalid_parameter("NextToken")
    start = int(said[:9])
    end = start + PAGE
    return found[start:end], str(end) if end < len(found) else None
