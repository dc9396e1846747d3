"""How many messages a claim may take of a queue that has a rate."""

from rowmq.core.rate import Bucket, drained, refilled
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.rows import Kept


class Room:
    """What a queue's rate leaves to one claim. Its row stays locked until the transaction ends.

    A queue without a rate has room for everything and costs no statement.
    """

    def __init__(self, cursor: Cursor, kept: Kept) -> None:
        self._cursor = cursor
        self._queue = kept.id
        self._bucket: Bucket | None = None
        self._spent = 0
        if kept.queue.rate is not None:
            row = cursor.one("rate_lock", queue=kept.id)
            self._found = row is not None
            self._bucket = refilled(None if row is None else Bucket(*row), kept.queue.rate, kept.now)

    def allow(self, wanted: int) -> int:
        """How many of so many may still go."""
        return wanted if self._bucket is None else min(wanted, self._bucket.messages - self._spent)

    def spend(self, count: int) -> None:
        """Note that so many went."""
        self._spent += count

    def keep(self) -> None:
        """Write down what is left; who inserts a queue's row second runs again and finds it."""
        if self._bucket is not None and self._spent:
            left = drained(self._bucket, self._spent)
            step = "rate_set" if self._found else "rate_make"
            self._cursor.run(step, queue=self._queue, room=left.room, at=left.at)
