"""Forward-only numbered migrations, each run once, by one process at a time."""

import re
from typing import NamedTuple

from rowmq.core.errors import SchemaOutdated
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.database import Database
from rowmq.stores.sql.queries import resource

_FILE = re.compile(r"(\d{4})_\w+\.sql")


class Migration(NamedTuple):
    """A numbered file of statements."""

    number: int
    name: str
    sql: str


def migrations(package: str) -> list[Migration]:
    """The migrations of a dialect, in order."""
    found = [
        (match, path)
        for path in resource(package, "migrations").iterdir()
        if (match := _FILE.fullmatch(path.name))
    ]
    return sorted(
        Migration(int(match[1]), path.name.removesuffix(".sql"), path.read_text()) for match, path in found
    )


class Migrator:
    """Brings a database's tables up to date."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._all = migrations(database.dialect.package)

    def missing(self) -> list[Migration]:
        """What has not been run yet."""
        done = self._done()
        return [migration for migration in self._all if migration.number not in done]

    def check(self) -> None:
        """Raise SchemaOutdated unless the tables are exactly of this version or a later one."""
        missing = self.missing()
        if missing:
            names = ", ".join(migration.name for migration in missing)
            raise SchemaOutdated(f"RowMQ's tables are not up to date ({names} missing); run: rowmq migrate")

    def run(self, *, upto: int | None = None) -> list[str]:
        """Run what is missing; the names of what was run."""
        if not self.missing():
            return []
        return self._database.run(lambda cursor: self._run(cursor, upto))

    def _run(self, cursor: Cursor, upto: int | None) -> list[str]:
        dialect = self._database.dialect
        dialect.lock_migrations(cursor.raw)
        cursor.run("migrations_make")
        done = {row[0] for row in cursor.all("migrations_done")}
        names = []
        for migration in self._all:
            if migration.number not in done and (upto is None or migration.number <= upto):
                dialect.script(cursor.raw, migration.sql)
                cursor.run("migrations_add", number=migration.number, name=migration.name)
                names.append(migration.name)
        if not done and upto is None:
            dialect.set_up(cursor)
        return names

    def _done(self) -> set[int]:
        try:
            return {row[0] for row in self._database.read(lambda cursor: cursor.all("migrations_done"))}
        except SchemaOutdated:
            return set()
