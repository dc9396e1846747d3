"""A claim's messages read as one row.

SQLite's module lets go of the interpreter at every row, and in a busy worker another thread then has it for
a while: a thousand rows are a thousand such moments, one row is one.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import accumulate, compress, pairwise
from operator import itemgetter, neg
from typing import Any, NamedTuple

from rowmq.core.outcome import lease_end
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.rows import Leased

LONGEST = 8192
"""Bytes of a body that is read together with others; longer ones would be copied once too often."""
ID = 16
"""Bytes of an id."""


class Whole(NamedTuple):
    """The row of ``pick_at_once``."""

    max_attempts: int | None
    lease: int
    vanished: int
    """How many have had a holder that vanished."""
    tried: int | None
    """The attempts of the message that was tried most often."""
    columns: str
    """Columns of a :class:`Leased`, and the lengths of bodies, as JSON."""
    ids: bytes | None
    bodies: bytes | None

    @property
    def is_plain(self) -> bool:
        """Whether all of it may be delivered without a look at each."""
        exhausted = self.max_attempts is not None and (self.tried or 0) >= self.max_attempts
        return not self.vanished and not exhausted

    def leased(self, cursor: Cursor, lease: int, now: int) -> Leased:
        """The messages once they are leased, in claim order: a Leased of columns."""
        columns: dict[str, Any] = json.loads(self.columns)
        ids = [self.ids[at : at + ID] for at in range(0, len(self.ids or b""), ID)]  # type: ignore[index]
        bodies = self._bodies(cursor, columns["seq"], columns.pop("length"))
        ends = _ends(columns["deadline"], lease, now)
        return _in_order(Leased(id=ids, body=bodies, until=ends, **columns))  # type: ignore[arg-type]

    def _bodies(self, cursor: Cursor, seqs: Sequence[int], lengths: Sequence[int]) -> list[bytes]:
        if max(lengths) <= LONGEST:
            return _cut(self.bodies or b"", lengths)
        long = [length > LONGEST for length in lengths]
        apart = dict(cursor.all("long_bodies", seqs=list(compress(seqs, long))))
        short = _cut(
            self.bodies or b"",
            [0 if is_long else length for is_long, length in zip(long, lengths, strict=True)],
        )
        return [apart.get(seq, body) for seq, body in zip(seqs, short, strict=True)]


def _cut(whole: bytes, lengths: Iterable[int]) -> list[bytes]:
    return [whole[start:end] for start, end in pairwise(accumulate(lengths, initial=0))]


def _ends(deadlines: Sequence[int | None], lease: int, now: int) -> list[int]:
    """When each lease ends; nearly always all at once."""
    ends = {deadline: lease_end(now, lease, deadline) for deadline in set(deadlines)}
    return list(map(ends.__getitem__, deadlines))


def _in_order(said: Any) -> Leased:
    """The columns in claim order, as they mostly are: SQLite promises none for what it puts together."""
    keys = list(zip(map(neg, said.priority), said.visible_at, said.seq, strict=True))
    places = sorted(range(len(keys)), key=keys.__getitem__)
    if places == list(range(len(keys))):
        return said  # type: ignore[no-any-return]
    return Leased._make(map(itemgetter(*places), said))
