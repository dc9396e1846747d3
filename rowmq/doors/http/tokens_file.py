"""The tokens file on disk: read, read again when it changes, and written as a whole."""

import json
import logging
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from rowmq.core.errors import InvalidSetting
from rowmq.doors.http.tokens import Key, Ring, Token, new_secret, parse
from rowmq.runtime.log import event, logger

FRESH = 1.0
"""Seconds for which the file is believed unchanged."""
OTHERS = stat.S_IRWXG | stat.S_IRWXO
HEAD = """\
# Who may use the server, and what for: see docs/security.md. rowmq tokens writes this file anew at each
# change, and keeps no comments. Secrets of keys stand here in plain: no signature is checked without them.
"""


class Watched:
    """A tokens file that is read again when it changes, so that nobody has to restart a server to revoke.

    A new state that cannot be used is logged, and the one before stays. Raises InvalidSetting if the first
    one cannot be used.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock = path, clock
        self._seen, self._looked = _state(path), clock()
        self._ring = read(path)

    @property
    def ring(self) -> Ring:
        """What counts now."""
        now = self._clock()
        if now - self._looked >= FRESH:
            self._looked = now
            self._look()
        return self._ring

    def _look(self) -> None:
        state = _state(self._path)
        if state == self._seen:
            return
        self._seen = state
        try:
            self._ring = read(self._path)
        except InvalidSetting as error:
            event(logger, logging.ERROR, "tokens.kept", reason=str(error))
        else:
            event(logger, logging.INFO, "tokens.read", entries=len(self._ring.entries))


def read(path: Path) -> Ring:
    """What the file says. Raises InvalidSetting if it is missing or wrong, or if others may read it."""
    try:
        with path.open("rb") as file:
            if os.name == "posix" and os.fstat(file.fileno()).st_mode & OTHERS:
                raise InvalidSetting(f"{path} may be read by others than its owner; run: chmod 600 {path}")
            text = file.read().decode()
    except OSError as error:
        raise InvalidSetting(f"the tokens file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidSetting(f"the tokens file {path} is not UTF-8") from None
    try:
        return parse(text)
    except InvalidSetting as error:
        raise InvalidSetting(f"{path}: {error}") from None


def change(path: Path, alter: Callable[[list[Token | Key]], Iterable[Token | Key]]) -> Ring:
    """Write what becomes of the file's entries, all at once and for its owner alone; or make the file.

    Nothing that the file may not say is written. Raises InvalidSetting.
    """
    before = read(path) if path.exists() else Ring(new_secret())
    text = text_of(before.secret, alter(before.entries))
    after = parse(text)
    _replace(path.resolve(), text)
    return after


def text_of(secret: str, entries: Iterable[Token | Key]) -> str:
    """The text of a tokens file."""
    lines = [HEAD, f"secret = {_toml(secret)}"]
    for entry in entries:
        lines.append("\n[[token]]" if isinstance(entry, Token) else "\n[[key]]")
        said = msgspec.structs.asdict(entry)
        lines += [f"{name} = {_toml(value)}" for name, value in said.items() if value not in (None, ())]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """A value in TOML; its strings and lists of them are those of JSON, but for one character."""
    if isinstance(value, str | tuple):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value.isoformat())


def _replace(path: Path, text: str) -> None:
    try:
        number, name = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}."
        )  # only its owner may read it
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError as error:
        raise InvalidSetting(f"the tokens file {path} cannot be written: {error.strerror}") from None


def _state(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
