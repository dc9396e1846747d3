"""From a grpc:// URL to a store."""

import os
from collections.abc import Mapping
from typing import Any

from sqlalchemy.engine import URL

from rowmq.core.errors import InvalidURL
from rowmq.stores.grpc.store import GrpcStore
from rowmq.stores.grpc.transport import Address, Transport

PORT = 10001
TOKEN = "ROWMQ_TOKEN"  # noqa: S105 - a variable's name
OPTIONS = {"ca", "timeout"}
LONGEST = 3600


def open_grpc(url: URL, *, check: bool = True) -> GrpcStore:
    """The store behind a server's gRPC port; unless ``check`` is False, it is asked whether it is there."""
    store = GrpcStore(Transport(address_of(url)))
    if check:
        store.now()
    return store


def address_of(url: URL) -> Address:
    """The address that a URL names. Raises InvalidURL."""
    if not url.host:
        raise InvalidURL("a server's URL names its host: grpc://127.0.0.1:10001")
    unknown = set(url.query) - OPTIONS
    if unknown:
        raise InvalidURL(f"a server's URL has no option {', '.join(sorted(unknown))}; it has ca and timeout")
    authority = url.query.get("ca")
    return Address(
        host=url.host,
        port=url.port or PORT,
        secure=url.drivername == "grpcs",
        token=url.username or url.password or os.environ.get(TOKEN) or None,
        authority=authority if isinstance(authority, str) else None,
        timeout=_timeout(url.query),
    )


def _timeout(query: Mapping[str, Any]) -> float:
    try:
        seconds = float(query.get("timeout", 30))
    except (TypeError, ValueError):
        seconds = 0
    if not 0 < seconds <= LONGEST:
        raise InvalidURL(f"timeout is a number of seconds, more than 0 and at most {LONGEST}")
    return seconds
