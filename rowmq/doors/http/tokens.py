"""What a tokens file says: who may enter, with what rights, and what receipts are sealed with.

Tokens are kept as plain SHA-256. Slow hashes are for passwords, which people choose and others guess; a
token is 256 random bits, which nobody guesses, so a slow hash would only cost every request its time.
"""

import hashlib
import hmac
import secrets
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from rowmq.core.errors import InvalidName, InvalidSetting
from rowmq.core.names import check_name
from rowmq.doors.right import EVERYTHING, Principal, Right

MARK = "rowmq_"
"""What tokens begin with, so that scanners for leaked secrets can find them."""
TOKEN_BYTES = 32
KEY_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
SHORTEST_SECRET = 20
HEX = set("0123456789abcdef")
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
    principals: Mapping[str, Principal] = field(default_factory=dict, repr=False)
    """Who everybody is once inside, by name."""

    def bearer(self, token: str, now: datetime) -> Principal | None:
        """Who has this token, or None: unknown and expired are the same."""
        return self.holder(digest_of(token), now)

    def holder(self, digest: bytes, now: datetime) -> Principal | None:
        """Who has the token of this digest, or None: unknown and expired are the same."""
        # Looked up by its digest, which a caller cannot choose, so the time it takes tells nothing.
        found = self.tokens.get(digest)
        if found is None or not hmac.compare_digest(digest, bytes.fromhex(found.sha256)) or found.over(now):
            return None
        return self.principals[found.name]

    def key(self, id: str, now: datetime) -> Key | None:
        """The key of this id, or None: unknown and expired are the same."""
        found = self.keys.get(id)
        return None if found is None or found.over(now) else found

    @property
    def entries(self) -> list[Token | Key]:
        """All, in the order of the file, tokens first."""
        return [*self.tokens.values(), *self.keys.values()]


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
        {each.name: each.principal for each in entries},
    )


def new_secret() -> str:
    """A new secret for receipts, or for an AWS key."""
    return secrets.token_hex(TOKEN_BYTES)


def new_token() -> str:
    """A new token: 256 random bits as text."""
    return MARK + secrets.token_urlsafe(TOKEN_BYTES)


def new_key_id() -> str:
    """A new id of an AWS key: of their length and alphabet, and unlike any of theirs."""
    return "RMQK" + "".join(secrets.choice(KEY_LETTERS) for _ in range(16))


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


def utc_now() -> datetime:
    """The time by which tokens expire: this machine's, as there may be no store to ask yet."""
    return datetime.now(UTC)
