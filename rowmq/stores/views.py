"""The SQL that users run themselves: the tables, and a queue as a view."""

import re

from rowmq.core.errors import InvalidName, InvalidSetting
from rowmq.core.names import check_name
from rowmq.stores.sql.migrations import migrations
from rowmq.stores.sql.queries import resource

PACKAGES = {
    "sqlite": "rowmq.stores.sqlite",
    "postgresql": "rowmq.stores.postgres",
    "mysql": "rowmq.stores.mysql",
}
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,54}")


def schema(dialect: str, *, drop: bool = False) -> str:
    """The statements that make RowMQ's tables in a database of this kind, or that drop them.

    >>> "CREATE TABLE" in schema("sqlite"), "DROP TABLE" in schema("postgresql", drop=True)
    (True, True)
    """
    package = _package(dialect)
    if drop:
        return resource(package, "drop.sql").read_text()
    return "\n".join(f"-- {migration.name}\n{migration.sql}" for migration in migrations(package))


def view(dialect: str, name: str, queue: str) -> str:
    """The statements that make a queue readable, and writable, as a view of this name."""
    if not _IDENTIFIER.fullmatch(name):
        raise InvalidName(f"a view name is 1 to 55 ASCII letters, digits and underscores, not {name!r}")
    literal = "'" + check_name(queue).replace("'", "''") + "'"
    if dialect == "mysql":
        literal = "_binary 0x" + queue.encode().hex()
    template = resource(_package(dialect), "view.sql").read_text()
    return (
        template.replace("{view}", name)
        .replace("{trigger}", f"{name}_insert")
        .replace("{queue}", literal)
        .replace("{{}}", "{}")
    )


def _package(dialect: str) -> str:
    if dialect not in PACKAGES:
        raise InvalidSetting(f"a dialect is one of {', '.join(PACKAGES)}, not {dialect!r}")
    return PACKAGES[dialect]
