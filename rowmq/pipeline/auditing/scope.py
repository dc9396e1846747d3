"""What an audit is about: everything, or one queue, or what was created in a period."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rowmq.core.clock import micros
from rowmq.core.errors import InvalidSetting, QueueNotFound
from rowmq.core.history import LedgerEntry
from rowmq.core.store import Store
from rowmq.pipeline.lake.folder import folder_name
from rowmq.pipeline.lake.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import Column


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Messages of one queue or all, created from a moment on and before another.

    What cannot be told to be outside is inside: a message that is broken may have neither queue nor time.
    """

    queue: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise InvalidSetting(f"a period ends after it begins, but {self.until} is not after {self.since}")

    @property
    def timed(self) -> bool:
        """Whether it is about a period."""
        return self.since is not None or self.until is not None

    @property
    def whole(self) -> bool:
        """Whether it is about everything."""
        return self.queue is None and not self.timed

    def has(self, queue: str | None, created: int | None) -> bool:
        """Whether a message of the store is inside; its time is in microseconds."""
        here = None in (queue, self.queue) or queue == self.queue
        begun = None in (created, self.since) or created >= micros(self.since)  # type: ignore[operator,arg-type]
        over = None not in (created, self.until) and created >= micros(self.until)  # type: ignore[operator,arg-type]
        return here and begun and not over

    def of_archived(self) -> "Column":
        """Whether a row of the archive is inside."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - its usual name; Spark is an extra

        here = F.expr("true") if self.queue is None else F.col("queue") == self.queue
        if self.since is not None:
            here &= F.col("created_at") >= F.lit(self.since)
        return here if self.until is None else here & (F.col("created_at") < F.lit(self.until))

    def has_file(self, path: str) -> bool:
        """Whether a file of the archive may hold messages of it: none is finished before it is created."""
        day = path.partition("/")[0].removeprefix("dt=")
        in_time = self.since is None or day >= self.since.astimezone(UTC).date().isoformat()
        return in_time and (self.queue is None or f"/queue={folder_name(self.queue)}/" in path)

    def entries(self, ledger: Iterable[LedgerEntry]) -> list[LedgerEntry]:
        """The deletions that may have taken messages of it: none is deleted before it is created."""
        return [
            each
            for each in ledger
            if self.queue in (None, each.queue) and (self.since is None or each.at >= self.since)
        ]

    def check(self, store: Store, ledger: Iterable[LedgerEntry], manifests: Iterable[Manifest]) -> None:
        """Raise QueueNotFound if nobody has ever heard of the queue; one that was dropped has a past."""
        if self.queue is None or store.queues.get(self.queue) is not None:
            return
        files = any(Scope(queue=self.queue).has_file(part.path) for each in manifests for part in each.files)
        if not files and all(each.queue != self.queue for each in ledger):
            raise QueueNotFound(self.queue)
