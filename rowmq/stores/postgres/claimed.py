"""What a claim in one statement answers: a row about the queue, then the messages."""

import json
from collections.abc import Sequence
from functools import partial

from rowmq.stores.sql.cursor import Row
from rowmq.stores.sql.dialect import Taken
from rowmq.stores.sql.rows import Leased
from rowmq.stores.sql.usual import leased_as_usual

TOLD = ("seq", "created_at", "id", "body")
"""The columns of a message that are told of each; one more says what is not as usual, or nothing."""


def taken(rows: Sequence[Row]) -> Taken | None:
    """The rows of ``claim_at_once``; None if the queue has rules, or one of what is due must be looked at."""
    if not rows:
        return None
    queue, max_attempts, lease, now, odd = json.loads(rows[0][-1])
    said = partial(_leased, rows[1:], lease=lease, now=now) if len(rows) > 1 else None
    return None if odd else Taken(queue, max_attempts, said)


def _leased(rows: Sequence[Row], *, lease: int, now: int) -> Leased:
    *columns, unusual = map(list, zip(*rows, strict=True))
    said = dict(zip(TOLD, columns, strict=True))
    told = [(place, json.loads(text)) for place, text in enumerate(unusual) if text]
    return leased_as_usual(said, told, lease=lease, now=now)
