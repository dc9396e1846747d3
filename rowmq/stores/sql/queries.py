"""Named statements from a ``queries.sql`` file, in the parameter style of a driver.

A section begins with ``-- name: section``. Parameters are written ``:name`` in every file.
"""

import re
from collections.abc import Callable
from importlib.resources import files
from importlib.resources.abc import Traversable

_SECTION = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"^\s*--.*\n?", re.MULTILINE)
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)\b")


def named(sql: str) -> str:
    """The statement as SQLite's driver wants it: as it is."""
    return sql


def pyformat(sql: str) -> str:
    """The statement as psycopg and PyMySQL want it."""
    return _PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%"))


def resource(package: str, *path: str) -> Traversable:
    """A file of a package, found without importing it: its driver may not be installed."""
    parent, _, leaf = package.rpartition(".")
    return files(parent).joinpath(leaf, *path)


def load_queries(package: str, style: Callable[[str], str]) -> dict[str, str]:
    """The sections of a package's queries.sql by name."""
    parts = _SECTION.split(resource(package, "queries.sql").read_text())
    return {
        name: style(_COMMENT.sub("", text).strip().rstrip(";"))
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }
