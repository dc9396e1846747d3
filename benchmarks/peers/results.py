"""What runs have found, put together: a run in parts is one result, and every part says when it was made."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from benchmarks.peers.figures import Book, Record

FILE = "results.json"
Entry = dict[str, Any]


class Results:
    """Records, and what is known of them: parts, servers, systems, what is missing and what went wrong."""

    def __init__(self) -> None:
        self.book = Book()
        self.parts: list[Entry] = []
        self.servers: dict[str, str] = {}
        self.systems: list[Entry] = []
        self.missing: list[Entry] = []
        self.troubles: list[Entry] = []

    @classmethod
    def load(cls, folder: Path) -> Self:
        """What is kept in a folder; nothing if there is nothing."""
        found, file = cls(), folder / FILE
        if file.exists():
            kept: Entry = json.loads(file.read_text())
            found.book = Book(Record(**each) for each in kept.pop("records"))
            found.__dict__.update(kept)
        return found

    def save(self, folder: Path) -> None:
        """Keep it."""
        kept = {name: value for name, value in self.__dict__.items() if name != "book"}
        kept["records"] = [each._asdict() for each in self.book.all()]
        (folder / FILE).write_text(json.dumps(kept, indent=1) + "\n")

    def join(self, other: Results) -> None:
        """Take over what another has. A case that both have is whole of the one with more systems in it.

        Rounds are compared with each other: a system's must be of the run that its peers' are of.
        """
        mine = {each[:3] for each in self.book.all()}
        taken = [each for each in other.book.all() if each[:3] not in mine or self._yields(other, each)]
        for store, system, case in dict.fromkeys(each[:3] for each in taken):
            self.forget(store, system, case)
        self.book = Book([*self.book.all(), *taken])
        self.servers |= other.servers
        self.parts += [each for each in other.parts if each not in self.parts]
        for each in other.systems:
            self.describe(each)
        for each in other.missing:
            self.miss(each)
        self.troubles += [each for each in other.troubles if each not in self.troubles]

    def _yields(self, other: Results, record: Record) -> bool:
        counts = [len(each.book.systems(record.store, record.case)) for each in (self, other)]
        return counts[0] <= counts[1]

    def forget(self, store: str, system: str, case: str) -> None:
        """Forget a case, to measure it anew."""
        self.book.drop(store, system, case)
        self.excuse(store, system, case)

    def excuse(self, store: str, system: str, case: str) -> None:
        """Forget what went wrong in a case, to try it again."""
        self.troubles = _others(self.troubles, store=store, system=system, case=case)

    def supersede(self, part: Entry) -> None:
        """Forget the parts before this one that measured nothing else: of their figures none is left."""
        self.parts = [each for each in self.parts if each is part or not _covers(part, each)]

    def describe(self, entry: Entry) -> None:
        """Note a system's version and settings, in place of what was noted before."""
        known = {"store": entry["store"], "system": entry["system"]}
        self.systems = [*_others(self.systems, **known), entry]
        self.missing = _others(self.missing, **known)

    def miss(self, entry: Entry) -> None:
        """Note why a system is not here, unless it is by now."""
        known = {"store": entry["store"], "system": entry["system"]}
        if len(_others(self.systems, **known)) == len(self.systems):
            self.missing = [*_others(self.missing, **known), entry]


def _covers(part: Entry, other: Entry) -> bool:
    """Whether a part measured all that another one had."""

    def cases(entry: Entry) -> set[str]:
        # What a scene says of itself in brackets does not count.
        return {*entry["sizes"], *(each.partition(" (")[0] for each in entry["scenes"])}

    return bool(part["store"] == other["store"] and cases(part) >= cases(other))


def _others(entries: Iterable[Entry], **known: str) -> list[Entry]:
    return [each for each in entries if any(each[name] != value for name, value in known.items())]
