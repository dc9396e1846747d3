"""The upkeep of an archive: small files are gathered into larger ones, and old days are let go."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING

from rowmq.core.store import Store
from rowmq.pipeline.lake.archive import ROLE, new_batch
from rowmq.pipeline.lake.batch import manifest_of, place, timestamps, verify, write_aside
from rowmq.pipeline.lake.folder import Lake
from rowmq.pipeline.lake.frames import archived
from rowmq.pipeline.lake.leading import TTL, Lead, leading
from rowmq.pipeline.lake.manifest import Batches, Expired, Manifest, Part, Plan
from rowmq.pipeline.opening import absolute, store_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = 32 * 2**20
"""Bytes below which a file is small."""
LARGEST = 2**30
"""Bytes of files that are gathered at once."""
WORTH = 2
"""How many times fewer files there must be afterwards."""


@dataclass(frozen=True, kw_only=True)
class Compacted:
    """How many batches became how many, and their files."""

    batches: int = 0
    files_before: int = 0
    files_after: int = 0


@dataclass(frozen=True, kw_only=True)
class LetGo:
    """What the archive has let go."""

    days: int = 0
    rows: int = 0
    bytes: int = 0


def compact(
    spark: "SparkSession", url: str, to: str, *, small: int = SMALL, ttl: timedelta = TTL
) -> Compacted:
    """Gather the small files of batches into one for each day and queue, if that makes half as many.

    The new batch is read back before it replaces the others, in one step that no crash can halve; it is
    for :func:`rowmq.pipeline.lake.archive.archive` to finish or undo what a crash has left.
    """
    store, lake = store_at(absolute(url)), Lake(to)
    lake.check_there()
    done = Compacted()
    with leading(store, ROLE, ttl) as lead, timestamps(spark):
        for sources in gatherable(Batches(lake).manifests(), small):
            made = _gather(spark, store, lake, lead, sources)
            done = Compacted(
                batches=done.batches + len(sources),
                files_before=done.files_before + sum(len(each.files) for each in sources),
                files_after=done.files_after + len(made.files),
            )
    return done


def let_go(url: str, to: str, before: date, *, ttl: timedelta = TTL) -> LetGo:
    """Delete the days before this one from the archive; the manifests keep count of what went."""
    store, lake = store_at(absolute(url)), Lake(to)
    lake.check_there()
    with leading(store, ROLE, ttl) as lead:
        batches = Batches(lake)
        gone = [part for each in batches.manifests() for part in _expire(batches, each, before, lead)]
        days = [each for each in lake.days() if each < before.isoformat()]
        for each in days:
            lake.delete_folder(f"dt={each}")
        return LetGo(
            days=len(days), rows=sum(part.rows for part in gone), bytes=sum(part.bytes for part in gone)
        )


def gatherable(manifests: Sequence[Manifest], small: int = SMALL) -> Iterator[list[Manifest]]:
    """Groups of finished batches whose small files are worth gathering, oldest first."""
    group: list[Manifest] = []
    for each in manifests:
        if each.pruned and each.files and each.bytes < small * len(each.files):
            group.append(each)
        if sum(one.bytes for one in group) > LARGEST:
            yield from _worth(group)
            group = []
    yield from _worth(group)


def _worth(group: list[Manifest]) -> Iterator[list[Manifest]]:
    places = [part.path.rsplit("/", 2)[0] for each in group for part in each.files]
    if places and len(places) >= WORTH * len(set(places)):
        yield group


def _gather(
    spark: "SparkSession", store: Store, lake: Lake, lead: Lead, sources: Sequence[Manifest]
) -> Manifest:
    batches, plan = Batches(lake), _plan(store, sources)
    batches.plan(plan)
    expected = write_aside(archived(spark, lake, sources), lake, plan.batch, gather=True)
    files = verify(spark, lake, place(lake, plan.batch), expected)
    expired = tuple(one for each in sources for one in each.expired)
    made = replace(manifest_of(plan, files), expired=expired)
    lead.check()
    batches.save(made)  # from here on the batch counts, and those it replaces do not
    batches.replace(made)
    return made


def _plan(store: Store, sources: Sequence[Manifest]) -> Plan:
    return Plan(
        batch=new_batch(store),
        first_seq=min(each.first_seq for each in sources),
        last_seq=max(each.last_seq for each in sources),
        before=max(each.plan.before for each in sources),
        replaces=tuple(each.batch for each in sources),
    )


def _expire(batches: Batches, manifest: Manifest, before: date, lead: Lead) -> list[Part]:
    """Take old files out of a manifest, which is their end: they are deleted afterwards."""
    gone = [each for each in manifest.files if each.day < before.isoformat()]
    if not gone:
        return []
    kept = [each for each in manifest.files if each not in gone]
    went = [Expired(count=each.rows, first_seq=each.first_seq, last_seq=each.last_seq) for each in gone]
    described = manifest_of(manifest.plan, kept)
    lead.check()
    batches.save(
        replace(
            described,
            pruned=manifest.pruned,
            returned=manifest.returned,
            expired=(*manifest.expired, *went),
        )
    )
    return gone
