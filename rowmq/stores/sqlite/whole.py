"""A claim's messages read as one row.

SQLite's module lets go of the interpreter at every row, and in a busy worker another thread then has it for
a while: a thousand rows are a thousand such moments, one row is one.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.rows import Leased
from rowmq.stores.sql.usual import leased_as_usual

LONGEST = 8192
"""Bytes of a body that is read together with others; longer ones would be copied once too often."""
ID = 16
"""Bytes of an id."""


class Whole(NamedTuple):
    """The row of ``claimed_at_once``."""

    max_attempts: int | None
    lease: int
    vanished: int
    """How many have had a holder that vanished."""
    tried: int | None
    """The attempts of the message that was tried most often."""
    longest: int | None
    """Bytes of the longest body."""
    seqs: str
    """A list, as JSON."""
    created: str
    """When each was pushed: a list, as JSON."""
    lengths: str
    """Bytes of each body: a list, as JSON."""
    unusual: str
    """Only of those that are not as usual: rows of seq, visible_at and the columns of USUAL, as JSON."""
    ids: bytes | None
    """One behind the other; None if there is no message."""
    bodies: bytes | None

    @property
    def is_plain(self) -> bool:
        """Whether all of it may be delivered without a look at each."""
        exhausted = self.max_attempts is not None and (self.tried or 0) >= self.max_attempts
        return not self.vanished and not exhausted

    def long_bodies(self, cursor: Cursor) -> dict[int, bytes]:
        """The bodies that are not among those read together, by seq."""
        if (self.longest or 0) <= LONGEST:
            return {}
        return dict(cursor.at_once("long_bodies", seqs=self.seqs, longest=LONGEST).fetchall())

    def leased(self, long: Mapping[int, bytes], now: int) -> Leased:
        """The messages once they are leased, in claim order: a Leased of columns."""
        seqs, ids, lengths = json.loads(self.seqs), self.ids or b"", json.loads(self.lengths)
        short = [0 if length > LONGEST else length for length in lengths] if long else lengths
        bodies = _cut(self.bodies or b"", short)
        if long:
            bodies = [long.get(seq, body) for seq, body in zip(seqs, bodies, strict=True)]
        cut = [ids[at : at + ID] for at in range(0, len(ids), ID)]
        said = {"seq": seqs, "created_at": json.loads(self.created), "id": cut, "body": bodies}
        return leased_as_usual(said, self._unusual(seqs), lease=self.lease, now=now)

    def _unusual(self, seqs: Sequence[int]) -> list[tuple[int, list[Any]]]:
        """What is not as usual, by the message's place."""
        rows = json.loads(self.unusual)
        places = {seq: place for place, seq in enumerate(seqs)} if rows else {}
        return [(places[seq], values) for seq, *values in rows]


def _cut(whole: bytes, lengths: Iterable[int]) -> list[bytes]:
    return [whole[start:end] for start, end in pairwise(accumulate(lengths, initial=0))]
