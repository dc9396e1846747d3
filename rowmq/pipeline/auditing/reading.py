"""What an audit would read."""

from dataclasses import dataclass

from rowmq.pipeline.auditing.scope import Scope
from rowmq.pipeline.lake.folder import Lake
from rowmq.pipeline.lake.manifest import Batches
from rowmq.pipeline.opening import absolute, store_at


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How much there is to read: everything, also for an audit of a part."""

    first_seq: int
    last_seq: int
    ledger_entries: int
    archive_batches: int
    archive_files: int
    archive_rows: int
    archive_bytes: int


def reading(url: str, archive: str | None = None, *, of: Scope = Scope()) -> Reading:  # noqa: B008 - frozen
    """What :func:`rowmq.pipeline.auditing.audit.audit` would read; it raises the same, and needs no Spark."""
    lake = None if archive is None else Lake(archive)
    if lake is not None:
        lake.check_there()
    store = store_at(absolute(url))
    ledger, manifests = store.history.ledger(), [] if lake is None else Batches(lake).manifests()
    of.check(store, ledger, manifests)
    first, last = store.history.bounds()
    return Reading(
        first_seq=first,
        last_seq=last,
        ledger_entries=len(ledger),
        archive_batches=len(manifests),
        archive_files=sum(len(each.files) for each in manifests),
        archive_rows=sum(each.rows for each in manifests),
        archive_bytes=sum(each.bytes for each in manifests),
    )
