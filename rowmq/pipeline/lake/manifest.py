"""What a batch of the archive is meant to hold, and what it holds: documents beside its files."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import reduce
from typing import Any

from rowmq.core.errors import InvalidInput
from rowmq.pipeline.lake.folder import BATCHES, Lake

VERSION = 1
WORD = 2**64


@dataclass(frozen=True, slots=True)
class Sum:
    """A checksum of rows in any order: how many, and two sums of their hashes. Sums of parts can be added."""

    rows: int = 0
    mixed: int = 0
    total: int = 0

    @classmethod
    def parse(cls, rows: int, text: str) -> "Sum":
        """The sum that :attr:`text` was made from."""
        mixed, _, total = text.partition("-")
        return cls(rows, int(mixed, 16), int(total, 16))

    def __add__(self, other: "Sum") -> "Sum":
        return Sum(self.rows + other.rows, self.mixed ^ other.mixed, (self.total + other.total) % WORD)

    @property
    def text(self) -> str:
        """The two sums as text."""
        return f"{self.mixed:016x}-{self.total:016x}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One file of a batch."""

    path: str
    rows: int
    bytes: int
    checksum: str
    first_seq: int
    last_seq: int

    @property
    def sum(self) -> Sum:
        """Its checksum."""
        return Sum.parse(self.rows, self.checksum)

    @property
    def day(self) -> str:
        """The day on which its messages were finished, as in its path."""
        return self.path.partition("/")[0].removeprefix("dt=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a batch will hold, fixed before anything is written."""

    batch: str
    first_seq: int
    last_seq: int
    before: datetime
    since: datetime | None = None
    queue: str | None = None
    replaces: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """Messages that the archive itself has let go after its own retention."""

    count: int
    first_seq: int
    last_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a batch holds, as its files were read back.

    ``pruned`` says that its messages have left the store; ``returned`` are those that came to life again
    before that, so that the store has them and the batch's rows of them do not count.
    """

    batch: str
    plan: Plan
    rows: int
    bytes: int
    checksum: str
    first_seq: int
    last_seq: int
    files: Sequence[Part]
    pruned: bool = False
    returned: Sequence[int] = ()
    replaces: Sequence[str] = ()
    expired: Sequence[Expired] = ()
    version: int = field(default=VERSION)

    @property
    def sum(self) -> Sum:
        """The checksum of all its files."""
        return Sum.parse(self.rows, self.checksum)


class Batches:
    """The batches of a lake: planned, being pruned, and done."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake

    def planned(self) -> list[Plan]:
        """The batches that are not finished, oldest first."""
        return [_plan(self._lake.read(_plan_path(name))) for name in self._lake.names(BATCHES, ".plan.json")]

    def manifests(self) -> list[Manifest]:
        """The batches that count: not those that a later one replaces, nor those that were undone.

        An unfinished batch has a plan; plans are looked at first, because they go when a batch is finished.
        """
        planned = self._lake.names(BATCHES, ".plan.json")
        names = self._lake.names(BATCHES, ".json")
        found = [_manifest(self._lake.read(_path(name))) for name in names if not name.endswith(".plan")]
        gone = {name for each in found for name in each.replaces}
        return [each for each in found if each.batch not in gone and (each.pruned or each.batch in planned)]

    def manifest(self, batch: str) -> Manifest | None:
        """A batch's manifest, if it has one."""
        return _manifest(self._lake.read(_path(batch))) if self._lake.exists(_path(batch)) else None

    def is_planned(self, batch: str) -> bool:
        """Whether the batch is still the one to be finished."""
        return self._lake.exists(_plan_path(batch))

    def plan(self, plan: Plan) -> None:
        """Begin a batch."""
        self._lake.write(_plan_path(plan.batch), _document(plan))

    def save(self, manifest: Manifest) -> None:
        """Write a manifest, or write it again."""
        self._lake.write(_path(manifest.batch), _document(manifest))

    def finish(self, manifest: Manifest, returned: Sequence[int] = ()) -> Manifest:
        """Say that the batch's messages have left the store, but those that live again."""
        done = replace(manifest, pruned=True, returned=tuple(sorted({*manifest.returned, *returned})))
        self.save(done)
        self._lake.delete(_plan_path(manifest.batch))
        return done

    def replace(self, manifest: Manifest) -> None:
        """Delete the batches that this one has the rows of; readers pass them over already."""
        for name in manifest.replaces:
            self.forget(name)
        self.finish(manifest)

    def forget(self, batch: str) -> None:
        """Delete all that there is of a batch; its manifest first, so that nobody reads what is going."""
        known = self.manifest(batch)
        self._lake.delete(_path(batch))
        self._lake.delete_files(
            [each.path for each in (self._lake.batch_files(batch) if known is None else known.files)]
        )
        self._lake.delete_folder(f"_staging/{batch}")
        self._lake.delete(_plan_path(batch))


def added(sums: Iterable[Sum]) -> Sum:
    """The checksum of all the rows."""
    return reduce(Sum.__add__, sums, Sum())


def _path(batch: str) -> str:
    return f"{BATCHES}/{batch}.json"


def _plan_path(batch: str) -> str:
    return f"{BATCHES}/{batch}.plan.json"


def _document(value: Plan | Manifest) -> dict[str, Any]:
    return _plain(asdict(value))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.isoformat() if isinstance(value, datetime) else value


def _plan(document: dict[str, Any]) -> Plan:
    said = {**document, "before": datetime.fromisoformat(document["before"])}
    said["replaces"] = tuple(document["replaces"])
    said["since"] = datetime.fromisoformat(said["since"]) if said["since"] else None
    return Plan(**said)


def _manifest(document: dict[str, Any]) -> Manifest:
    if document["version"] != VERSION:
        raise InvalidInput(
            f"the archive's batch {document['batch']} is a newer RowMQ's: update this one to read it"
        )
    said = {**document, "plan": _plan(document["plan"])}
    said["files"] = tuple(Part(**each) for each in document["files"])
    said["expired"] = tuple(Expired(**each) for each in document["expired"])
    said |= {name: tuple(document[name]) for name in ("returned", "replaces")}
    return Manifest(**said)
