"""A claim's messages read as one row.

SQLite's module lets go of the interpreter at every row, and in a busy worker another thread then has it for
a while: a thousand rows are a thousand such moments, one row is one.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, islice, pairwise
from operator import le, neg
from typing import Any, NamedTuple

from rowmq.core.outcome import lease_end
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.rows import Leased

LONGEST = 8192
"""Bytes of a body that is read together with others; longer ones would be copied once too often."""
ID = 16
"""Bytes of an id."""
USUAL: dict[str, Any] = {
    "priority": 0,
    "attempts": 0,
    "receives": 0,
    "deadline": None,
    "source": None,
    "group_name": None,
    "binary": False,
    "metadata": None,
}
"""What nearly all messages have in these columns; they are also due since they were pushed."""


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
        columns = self._columns(seqs)
        ends = _ends(columns["deadline"], self.lease, now)
        return _in_order(Leased(seq=seqs, id=cut, body=bodies, until=ends, **columns))  # type: ignore[arg-type]

    def _columns(self, seqs: Sequence[int]) -> dict[str, Any]:
        """What nearly all messages have the same, said anew for those that have not."""
        created = json.loads(self.created)
        columns: dict[str, Any] = {name: [usual] * len(seqs) for name, usual in USUAL.items()}
        # Nobody asks which queue it is: who claims from one knows.
        columns |= {"queue": [0] * len(seqs), "created_at": created, "visible_at": list(created)}
        rows = json.loads(self.unusual)
        places = {seq: place for place, seq in enumerate(seqs)} if rows else {}
        for seq, *values in rows:
            for name, value in zip(("visible_at", *USUAL), values, strict=True):
                columns[name][places[seq]] = value
        return columns


def _cut(whole: bytes, lengths: Iterable[int]) -> list[bytes]:
    return [whole[start:end] for start, end in pairwise(accumulate(lengths, initial=0))]


def _ends(deadlines: Sequence[int | None], lease: int, now: int) -> list[int]:
    """When each lease ends; nearly always all at once."""
    ends = {deadline: lease_end(now, lease, deadline) for deadline in set(deadlines)}
    return list(map(ends.__getitem__, deadlines))


def _in_order(said: Any) -> Leased:
    """The columns in claim order, as they mostly are: SQLite promises none for what it puts together."""
    if len(set(said.priority)) == 1 and _rises(said.visible_at) and _rises(said.seq):
        return said  # type: ignore[no-any-return]
    keys = list(zip(map(neg, said.priority), said.visible_at, said.seq, strict=True))
    places = sorted(range(len(keys)), key=keys.__getitem__)
    return Leased._make([each[place] for place in places] for each in said)


def _rises(column: Sequence[int]) -> bool:
    return all(map(le, column, islice(column, 1, None)))
