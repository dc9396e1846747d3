"""What a Redis URL says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from sqlalchemy.engine import URL

from rowmq.core.errors import InvalidURL

RETENTION = timedelta(hours=1)
"""How long queues created here keep finished messages, unless the URL or the queue says otherwise."""
LONGEST_PREFIX = 64
OURS = {"prefix", "retention", "eviction", "timeout", "db"}
TLS = {"ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs"}
SCHEMES = ("redis", "rediss", "unix")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """A Redis server, and what of it is ours."""

    prefix: str = "rowmq"
    retention: timedelta = RETENTION
    evicting: bool = False
    """Whether the URL allows a server that may evict messages."""
    timeout: float = 30.0
    """Seconds to wait for an answer."""
    scheme: str = "redis"
    place: Mapping[str, Any] = field(default_factory=dict)
    """Where the server is and who we are there, as its driver takes it."""

    @property
    def root(self) -> str:
        """What every key begins with. The braces make it the part that a cluster hashes."""
        return f"{{{self.prefix}}}:"


def options_of(url: URL) -> Options:
    """The options that a URL names. Raises InvalidURL."""
    asked = {name: value if isinstance(value, str) else value[-1] for name, value in url.query.items()}
    unknown = set(asked) - OURS - (TLS if url.drivername == "rediss" else set())
    if unknown:
        raise InvalidURL(f"a {url.drivername} URL has no option {', '.join(sorted(unknown))}")
    return Options(
        prefix=_prefix(asked.get("prefix", "rowmq")),
        retention=timedelta(seconds=_number("retention", asked.get("retention", "3600"), 0)),
        evicting=_eviction(asked.get("eviction", "refuse")),
        timeout=_number("timeout", asked.get("timeout", "30"), 0.01),
        scheme=url.drivername,
        place=_place(url, asked),
    )


def _place(url: URL, asked: Mapping[str, str]) -> dict[str, Any]:
    who: dict[str, Any] = {"username": url.username, "password": url.password}
    if url.drivername == "unix":
        return {**who, "path": f"/{url.database or ''}", "db": _database(asked.get("db", "0"))}
    where = {"host": url.host or "localhost", "port": url.port or 6379}
    tls = {name: asked[name] for name in TLS & set(asked)}
    return {**who, **where, **tls, "db": _database(asked.get("db") or url.database or "0")}


def _prefix(text: str) -> str:
    plain = text.isascii() and all(each.isalnum() or each in "-_.:" for each in text)
    if not plain or not 1 <= len(text) <= LONGEST_PREFIX:
        raise InvalidURL(f"a prefix is 1 to {LONGEST_PREFIX} letters, digits, - _ . or :, not {text!r}")
    return text


def _eviction(text: str) -> bool:
    if text not in {"refuse", "allow"}:
        raise InvalidURL(f"eviction is refuse or allow, not {text!r}")
    return text == "allow"


def _database(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise InvalidURL(f"a Redis database is a number, not {text!r}")
    return int(text)


def _number(name: str, text: str, least: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not least <= value <= timedelta(days=3650).total_seconds():
        raise InvalidURL(f"{name} is a number of seconds, at least {least}, not {text!r}")
    return value
