"""Ordered groups: one head in front, the others parked behind it."""

from collections.abc import Collection

from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.database import Conflict


class Places:
    """Where new messages of a queue's groups stand. The groups stay locked until the transaction ends."""

    def __init__(self, cursor: Cursor, queue: int, names: Collection[str]) -> None:
        self._ids = _locked(cursor, queue, sorted(names))
        ids = list(self._ids.values())
        self._headed = {row[0] for row in cursor.all("group_heads", groups=ids)} if ids else set()

    def take(self, name: str | None) -> tuple[int | None, bool]:
        """The next message's group key, and whether it must park behind a head."""
        if name is None:
            return None, False
        group = self._ids[name]
        parked = group in self._headed
        self._headed.add(group)
        return group, parked


def advance(cursor: Cursor, groups: Collection[int], now: int) -> None:
    """Give each group that has lost its head the next one, so that nobody is parked behind nothing."""
    if not groups:
        return
    ids = sorted(groups)
    cursor.all("group_lock", groups=ids)
    heirs = [row[0] for row in cursor.all("group_heirs", groups=ids) if row[0] is not None]
    if heirs:
        cursor.run("unpark", seqs=heirs, now=now)


def _locked(cursor: Cursor, queue: int, names: list[str]) -> dict[str, int]:
    if not names:
        return {}
    cursor.many("group_make", [{"queue": queue, "name": name} for name in names])
    ids = {name: id for id, name in cursor.all("group_find", queue=queue, names=names)}
    if len(ids) < len(names):  # swept away between the two statements
        raise Conflict
    return ids
