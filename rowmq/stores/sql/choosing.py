"""Choosing among what is due: by metadata, age, share, and place in a group."""

import json
from collections.abc import Collection, Iterator, Sequence
from itertools import starmap
from typing import Any

from rowmq.core.clock import micros, span
from rowmq.core.delivery import CANDIDATES, Membership, Want, own_first
from rowmq.core.where import Where, holds
from rowmq.stores.recent import Recent
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.dialect import Dialect
from rowmq.stores.sql.rows import EMPTY, Kept, Owing

Position = tuple[int, int, int]
"""A priority, a time and a seq: how far a search has come."""
_START: Position = (10, 0, 0)


class Chooser:
    """Looks for candidates, a bounded number at a time, and remembers where each search stopped."""

    def __init__(self) -> None:
        self._stopped: Recent[tuple[object, ...], Position] = Recent()

    def choose(
        self, cursor: Cursor, kept: Kept, want: Want, need: int, skipped: Collection[int]
    ) -> list[int]:
        """The seqs to try for, in the order to take them."""
        if need <= 0:
            return []
        membership = _membership(cursor, kept, want)
        count = 1 if membership is None else membership.count
        found = self._candidates(cursor, kept, want, need * count + len(skipped))
        return own_first([seq for seq in found if seq not in skipped], membership, need)

    def lock(self, cursor: Cursor, kept: Kept, seqs: Sequence[int]) -> list[Owing]:
        """Lock those of the chosen that are still due and that nobody else is taking, in the given order."""
        if not seqs:
            return []
        rows = {row.seq: row for row in starmap(Owing, cursor.all("lock", seqs=list(seqs), now=kept.now))}
        return [rows[seq] for seq in seqs if seq in rows]

    def parked(self, cursor: Cursor, group: int) -> Iterator[Owing]:
        """The messages parked in a group, in order, looked up as they are asked for: more each time."""
        limit = 1
        rows = cursor.all("next_parked", group=group, after=0, limit=limit)
        while rows:
            yield from starmap(Owing, rows)
            limit *= 2
            rows = cursor.all("next_parked", group=group, after=rows[-1][0], limit=limit)

    def follows(self, row: Owing, want: Want, now: int) -> bool:
        """Whether a parked message may come along with its head: it is due and wanted."""
        return row.time <= now and _wanted(row, want, now)

    def _candidates(self, cursor: Cursor, kept: Kept, want: Want, limit: int) -> list[int]:
        """Matching seqs in claim order. Only a search with conditions is bounded, and goes on next time."""
        if not want.conditional:
            return self._walk(cursor, kept, want, limit, _START)[0]
        key = (kept.id, want.where, want.max_age, want.upto, want.since, want.until)
        start = self._stopped.pop(key, _START)
        found, end = self._walk(cursor, kept, want, limit, start)
        if start != _START and len(found) < limit and end is None:
            more, end = self._walk(cursor, kept, want, limit - len(found), _START)
            found += [seq for seq in more if seq not in found]
        if end is not None:
            self._stopped.note(key, end)
        return found

    def _walk(
        self, cursor: Cursor, kept: Kept, want: Want, limit: int, start: Position
    ) -> tuple[list[int], Position | None]:
        """Matching seqs from a position on, and where the search stopped if it did before the end."""
        extra, parameters = _conditions(cursor.dialect, want, kept.now)
        found: list[int] = []
        look = CANDIDATES if extra else limit
        for (priority,) in cursor.all("priorities", queue=kept.id):
            if priority > start[0]:
                continue
            _, time, seq = start if priority == start[0] else _START
            place = {"queue": kept.id, "priority": priority, "time": time, "seq": seq, "now": kept.now}
            rows = cursor.select(
                "candidates", extra, look=look, limit=limit - len(found), **place, **parameters
            )
            found += [row[0] for row in rows]
            if len(found) >= limit:
                return found, None
            end = cursor.one("candidates_end", skip=look - 1, **place) if extra else None
            if end is not None:
                return found, (priority, *end)
        return found, None


def _membership(cursor: Cursor, kept: Kept, want: Want) -> Membership | None:
    if want.sharer is None:
        return None
    alive = [name for _, name, _, _ in cursor.all("consumers_alive", queue=kept.id, now=kept.now)]
    return Membership(alive.index(want.sharer), len(alive), joined=False) if want.sharer in alive else None


def _conditions(dialect: Dialect, want: Want, now: int) -> tuple[str, dict[str, Any]]:
    """What a message must meet, as SQL made of constants, and its parameters."""
    extra, parameters = metadata_conditions(dialect, want.where)
    if want.max_age is not None:
        extra += " AND m.created_at > :oldest"
        parameters["oldest"] = now - span(want.max_age)
    if want.upto is not None:
        extra += " AND m.seq <= :upto"
        parameters["upto"] = want.upto
    for name, comparison, time in (("since", ">=", want.since), ("until", "<", want.until)):
        if time is not None:
            extra += f" AND m.created_at {comparison} :{name}"
            parameters[name] = micros(time)
    return extra, parameters


def metadata_conditions(dialect: Dialect, where: Where) -> tuple[str, dict[str, Any]]:
    """Conditions on ``m.metadata`` as SQL made of constants, every key and value a parameter."""
    extra = ""
    parameters: dict[str, Any] = {}
    letters = "abcdefghijklmnopqrstuvwxyz"
    for number, condition in enumerate(where):
        name = "k_" + letters[number // 26] + letters[number % 26]
        value = dialect.condition(name + "_k")
        parameters[name + "_k"] = condition.key
        if condition.operator == "exists":
            extra += f" AND {value} IS NOT NULL"
            continue
        parameters[name] = list(condition.values)
        test = f"{value} IN {dialect.in_list(name)}"
        extra += f" AND ({value} IS NULL OR NOT {test})" if condition.operator == "!=" else f" AND {test}"
    return extra, parameters


def _wanted(due: Owing, want: Want, now: int) -> bool:
    young = want.max_age is None or due.created_at + span(want.max_age) > now
    early = want.upto is None or due.seq <= want.upto
    begun = want.since is None or due.created_at >= micros(want.since)
    over = want.until is not None and due.created_at >= micros(want.until)
    metadata = json.loads(due.metadata) if due.metadata else EMPTY
    return young and early and begun and not over and holds(want.where, metadata)
