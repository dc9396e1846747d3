"""From a server's URL to its store."""

import os
import ssl
from collections.abc import Mapping
from typing import Any

from sqlalchemy.engine import URL

from rowmq.core.errors import InvalidURL
from rowmq.core.store import Store
from rowmq.stores.remote.store import RemoteStore
from rowmq.stores.remote.transport import Address, Transport

TOKEN = "ROWMQ_TOKEN"  # noqa: S105 - the variable's name
PORTS = {"http": 9999, "https": 443}
OPTIONS = ("ca", "timeout")


def open_remote(url: URL, *, check: bool = True) -> Store:
    """The store of the server at ``http://TOKEN@host:9999``, or ``https://``.

    The token may also come from ROWMQ_TOKEN. ``?ca=FILE`` names certificates to trust, ``timeout=`` how many
    seconds an answer may take. Raises InvalidURL, or StoreUnavailable if the server cannot be reached.
    """
    try:
        store = RemoteStore(Transport(address_of(url)))
    except (OSError, ssl.SSLError):
        raise InvalidURL("the file that ca= names holds no certificates, or cannot be read") from None
    if check:
        store.now()
    return store


def address_of(url: URL) -> Address:
    """Where the server is that a URL names."""
    if not url.host:
        raise InvalidURL("a server's URL names its host, as http://127.0.0.1:9999 does")
    unknown = set(url.query) - set(OPTIONS)
    if unknown:
        raise InvalidURL(f"a server's URL has no option {', '.join(sorted(unknown))}; it has ca and timeout")
    authority = url.query.get("ca")
    return Address(
        host=url.host,
        port=url.port or PORTS[url.drivername],
        secure=url.drivername == "https",
        prefix=f"/{url.database}".rstrip("/") if url.database else "",
        token=url.username or url.password or os.environ.get(TOKEN) or None,
        authority=authority if isinstance(authority, str) else None,
        timeout=_timeout(url.query),
    )


def _timeout(query: Mapping[str, Any]) -> float:
    try:
        seconds = float(query.get("timeout", 30))
    except (TypeError, ValueError):
        seconds = 0
    if not 0 < seconds <= 3600:  # noqa: PLR2004 - an hour
        raise InvalidURL("timeout is a number of seconds, more than 0 and at most 3600")
    return seconds
