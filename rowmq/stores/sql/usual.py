"""A claim's messages by columns, where the database tells of each message only what is not as usual.

Of fourteen values of a message four differ from the next one's. To send and to read all the others, row by
row, is a good part of a claim.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from operator import le, neg
from typing import Any

from rowmq.core.outcome import lease_end
from rowmq.stores.sql.rows import Leased

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


def leased_as_usual(
    said: Mapping[str, list[Any]], unusual: Iterable[tuple[int, Sequence[Any]]], *, lease: int, now: int
) -> Leased:
    """Messages that are leased, in claim order: a Leased of columns.

    ``said`` has the columns that are told of each: seq, created_at, id and body. Of some, by their place,
    ``unusual`` has visible_at and the columns of USUAL.
    """
    count = len(said["seq"])
    columns = {name: [usual] * count for name, usual in USUAL.items()}
    columns["visible_at"] = list(said["created_at"])
    for place, values in unusual:
        for name, value in zip(("visible_at", *USUAL), values, strict=True):
            columns[name][place] = value
    ends = _ends(columns["deadline"], lease, now)
    return _in_order(Leased(until=ends, **said, **columns))  # type: ignore[arg-type]


def _ends(deadlines: Sequence[int | None], lease: int, now: int) -> list[int]:
    """When each lease ends; nearly always all at once."""
    ends = {deadline: lease_end(now, lease, deadline) for deadline in set(deadlines)}
    return list(map(ends.__getitem__, deadlines))


def _in_order(said: Any) -> Leased:
    """The columns in claim order, as they mostly are: no database promises one for what it has changed."""
    if len(set(said.priority)) == 1 and _rises(said.visible_at) and _rises(said.seq):
        return said  # type: ignore[no-any-return]
    keys = list(zip(map(neg, said.priority), said.visible_at, said.seq, strict=True))
    places = sorted(range(len(keys)), key=keys.__getitem__)
    return Leased._make([each[place] for place in places] for each in said)


def _rises(column: Sequence[int]) -> bool:
    return all(map(le, column, islice(column, 1, None)))
