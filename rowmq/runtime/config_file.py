"""The file that options stand in: rowmq.toml, or the table [tool.rowmq] of pyproject.toml."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rowmq.core.errors import InvalidSetting

FILES = ("rowmq.toml", "pyproject.toml")
_RELATIVE = re.compile(r"(sqlite(?:\+\w+)?:///)(?![/:?])(.+)", re.DOTALL)


def find_file(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """The file that counts in a folder, and what it says."""
    for place in (folder, *folder.parents):
        for path in (place / name for name in FILES):
            if path.is_file() and (table := _table(path)) is not None:
                return path, table
    return None


def _table(path: Path) -> dict[str, Any] | None:
    try:
        text = path.read_text(encoding="utf-8")
        # Another project's broken pyproject.toml is none of our business.
        parsed = tomllib.loads(text) if path.name == FILES[0] or "rowmq" in text else {}
    except OSError as error:
        raise InvalidSetting(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InvalidSetting(f"{path} is not TOML: {error}") from None
    return parsed if path.name == FILES[0] else _tool(parsed, path)


def _tool(parsed: Any, path: Path) -> dict[str, Any] | None:
    tool = parsed.get("tool", {})
    table = tool.get("rowmq", None) if isinstance(tool, dict) else tool
    if table is not None and not isinstance(table, dict):
        raise InvalidSetting(f"{path}: tool.rowmq is a table of options, not {table!r}")
    return table


def flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """What a table says, by dotted names."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def beside(url: str, folder: Path) -> str:
    """A relative SQLite path of a file is relative to that file, wherever below it the program runs."""
    found = _RELATIVE.fullmatch(url)
    return f"{found[1]}{folder / found[2]}" if found else url
