"""The tokens file: who may enter, with what rights, and the key that receipts are sealed with.

Tokens are kept as plain SHA-256. Slow hashes are for passwords, which people choose and others guess; a
token is 256 random bits, which nobody guesses, so a slow hash would only cost every request its time.
"""

import hashlib
import hmac
import logging
import os
import secrets
import stat
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rowmq.core.errors import InvalidName, InvalidSetting
from rowmq.core.names import check_name
from rowmq.doors.http.right import EVERYTHING, Principal, Right
from rowmq.runtime.log import event, logger

MARK = "rowmq_"
"""What tokens begin with, so that scanners for leaked secrets can find them."""
TOKEN_BYTES = 32
SHORTEST_SECRET = 20
FRESH = 1.0
"""Seconds for which the file is believed unchanged."""
HEX = set("0123456789abcdef")
OTHERS = stat.S_IRWXG | stat.S_IRWXO
Patterns = tuple[str, ...]


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Somebody who may enter: a name, until when, and the names of queues and topics for each right."""

    name: str
    expires: datetime | None = None
    push: Patterns = ()
    claim: Patterns = ()
    read: Patterns = ()
    manage: Patterns = ()

    @property
    def principal(self) -> Principal:
        """Who it is once inside."""
        return Principal(self.name, {right: getattr(self, right.value) for right in Right})

    def over(self, now: datetime) -> bool:
        """Whether its time is over."""
        return self.expires is not None and self.expires <= now

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


class Token(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Who shows a token, of which only the SHA-256 is known here."""

    sha256: str


class Key(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Who signs as AWS's clients do. The secret is here in plain: a signature cannot be checked without."""

    id: str
    secret: str


class _File(msgspec.Struct, forbid_unknown_fields=True):
    secret: str
    token: list[Token] = []
    key: list[Key] = []


@dataclass(frozen=True)
class Ring:
    """Everything that one state of the file says. Its parts are never shown."""

    secret: str = field(repr=False)
    tokens: Mapping[bytes, Token] = field(default_factory=dict, repr=False)
    keys: Mapping[str, Key] = field(default_factory=dict, repr=False)

    def bearer(self, token: str, now: datetime) -> Principal | None:
        """Who has this token, or None: unknown and expired are the same."""
        digest = digest_of(token)
        # Looked up by its digest, which a caller cannot choose, so the time it takes tells nothing.
        found = self.tokens.get(digest)
        if found is None or not hmac.compare_digest(digest, bytes.fromhex(found.sha256)) or found.over(now):
            return None
        return found.principal

    def key(self, id: str, now: datetime) -> Key | None:
        """The key of this id, or None: unknown and expired are the same."""
        found = self.keys.get(id)
        return None if found is None or found.over(now) else found

    @property
    def entries(self) -> list[Token | Key]:
        """All, in the order of the file, tokens first."""
        return [*self.tokens.values(), *self.keys.values()]


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


def parse(text: str) -> Ring:
    """What the text of a tokens file says. Raises InvalidSetting, which never repeats a secret."""
    try:
        said = msgspec.convert(tomllib.loads(text), _File)
    except tomllib.TOMLDecodeError as error:
        raise InvalidSetting(f"this is not TOML: {_place(error)}") from None
    except msgspec.ValidationError as error:
        raise InvalidSetting(f"{error}; docs/security.md has every field") from None
    entries: list[Token | Key] = [*said.token, *said.key]
    for each in entries:
        try:
            _check(each)
        except InvalidName as error:
            raise InvalidSetting(f"the entry {each.name!r} is wrong: {error}") from None
    _refuse_twice("name", [each.name for each in entries])
    _refuse_twice("sha256", [each.sha256 for each in said.token])
    _refuse_twice("id", [each.id for each in said.key])
    return Ring(
        _secret(said.secret),
        {bytes.fromhex(each.sha256): each for each in said.token},
        {each.id: each for each in said.key},
    )


def new_token() -> str:
    """A new token: 256 random bits as text."""
    return MARK + secrets.token_urlsafe(TOKEN_BYTES)


def digest_of(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).digest()


def _check(entry: Token | Key) -> None:
    check_name(entry.name, "token's name")
    if entry.expires is not None and entry.expires.tzinfo is None:
        raise InvalidSetting(f"{entry.name!r} expires at a time without a zone; write 2027-01-01T00:00:00Z")
    for right in Right:
        for pattern in getattr(entry, right.value):
            check_pattern(pattern)
    if isinstance(entry, Token):
        _check_digest(entry)
    elif not entry.id or len(entry.secret) < SHORTEST_SECRET:
        raise InvalidSetting(
            f"the key {entry.name!r} needs an id, and a secret of {SHORTEST_SECRET} or more characters"
        )


def check_pattern(pattern: str) -> str:
    """Return the pattern if it may be one: a name, the beginning of names and ``*``, or ``*`` for all."""
    if pattern == EVERYTHING:
        return pattern
    name = pattern.removesuffix("*")
    if "*" in name:
        raise InvalidSetting(
            f"{pattern!r} has * elsewhere than at its end; write a name, or its beginning and *"
        )
    check_name(name, "name in a right")
    return pattern


def _check_digest(entry: Token) -> None:
    if len(entry.sha256) != hashlib.sha256().digest_size * 2 or not set(entry.sha256) <= HEX:
        raise InvalidSetting(f"the sha256 of {entry.name!r} is not 64 hexadecimal digits in lower case")


def _refuse_twice(what: str, values: Sequence[str]) -> None:
    if len(set(values)) == len(values):
        return
    twice = next(value for place, value in enumerate(values) if value in values[:place])
    shown = "" if what == "sha256" else f" {twice!r}"
    raise InvalidSetting(f"two entries have the same {what}{shown}")


def _secret(text: str) -> str:
    if len(text) < TOKEN_BYTES * 2 or not set(text) <= HEX:
        raise InvalidSetting(f"secret is {TOKEN_BYTES * 2} or more hexadecimal digits in lower case")
    return text


def _place(error: tomllib.TOMLDecodeError) -> str:
    """Where TOML went wrong, and not what stands there, which may be a secret."""
    _, found, place = str(error).rpartition("(")
    return place.removesuffix(")") if found else "somewhere"


def _state(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def utc_now() -> datetime:
    """The time by which tokens expire: this machine's, as there may be no store to ask yet."""
    return datetime.now(UTC)
