"""What an archive's documents say about its batches: read here as JSON, without Spark and what it needs."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

T = TypeVar("T")
BATCHES, PLAN, MANIFEST = "_batches", ".plan.json", ".json"
MOST = 100
"""How many batches are shown, the newest."""
LARGEST = 64 * 2**20
"""Bytes of a document; one that is larger is not ours."""


class Stage(StrEnum):
    """How far a batch has come.

    ``planned``: being written; ``verified``: its files were read back and are right, and its messages are
    leaving the store; ``done``: they have left it.
    """

    PLANNED = "planned"
    VERIFIED = "verified"
    DONE = "done"


class Plan(msgspec.Struct):
    """What a batch was to hold."""

    queue: str | None = None
    before: str = ""


class Expired(msgspec.Struct):
    """Messages that the archive itself has let go."""

    count: int = 0


class Manifest(msgspec.Struct):
    """What a batch holds."""

    batch: str
    rows: int
    bytes: int
    checksum: str
    plan: Plan
    files: Sequence[msgspec.Raw] = ()
    pruned: bool = False
    replaces: Sequence[str] = ()
    returned: Sequence[int] = ()
    expired: Sequence[Expired] = ()


class Batch(NamedTuple):
    """A batch of the archive; without a manifest only its plan is known."""

    name: str
    stage: Stage
    queue: str | None
    manifest: Manifest | None = None


class Shelf(NamedTuple):
    """The newest batches of an archive, and how many there are."""

    batches: Sequence[Batch]
    total: int
    trouble: str = ""
    """Why there is nothing to show, if that is so."""


def shelf(folder: str) -> Shelf:
    """What is in the archive in this folder."""
    if "://" in folder:
        return Shelf((), 0, "The archive is not on this machine: its batches are listed where Spark runs.")
    place = Path(folder) / BATCHES
    try:
        names = sorted((each.name for each in place.iterdir()), reverse=True)
    except OSError:
        return Shelf((), 0, "There is no archive in that folder, or it cannot be read.")
    planned = {name.removesuffix(PLAN) for name in names if name.endswith(PLAN)}
    whole = [name.removesuffix(MANIFEST) for name in names if _is_manifest(name)]
    newest = sorted({*whole, *planned}, reverse=True)
    found = list(_read(place, newest[: 2 * MOST], planned))
    gone = {name for each in found if each.manifest for name in each.manifest.replaces}
    kept = [each for each in found if each.name not in gone]
    return Shelf(kept[:MOST], len(newest))


def _is_manifest(name: str) -> bool:
    return name.endswith(MANIFEST) and not name.endswith(PLAN) and not name.startswith(".")


def _read(place: Path, names: Sequence[str], planned: set[str]) -> Iterator[Batch]:
    """The batches that count; one that went while we looked, or is not as ours are, is passed over."""
    for name in names:
        manifest = _decoded(place / f"{name}{MANIFEST}", Manifest)
        if manifest is not None and (manifest.pruned or name in planned):
            stage = Stage.DONE if manifest.pruned else Stage.VERIFIED
            yield Batch(name, stage, manifest.plan.queue, manifest)
        elif manifest is None and name in planned:
            plan = _decoded(place / f"{name}{PLAN}", Plan)
            yield Batch(name, Stage.PLANNED, None if plan is None else plan.queue)


def _decoded(path: Path, kind: type[T]) -> T | None:
    with suppress(OSError, msgspec.DecodeError, RecursionError):
        if path.stat().st_size <= LARGEST:
            return msgspec.json.decode(path.read_bytes(), type=kind)
    return None
