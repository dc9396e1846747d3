"""Requests and tokens files, made by hand."""

import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rowmq.doors.http.request import Request
from rowmq.doors.http.tokens import digest_of

SECRET = "5e" * 32
Headers = Iterable[tuple[str, str]]


def asked(
    method: str = "GET",
    path: str = "/",
    *,
    query: str = "",
    headers: Headers = (),
    address: str | None = "192.0.2.1",
) -> Request:
    """A request without a body."""

    async def nothing() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    return Request(
        {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
            "client": None if address is None else (address, 40_000),
        },
        nothing,
    )


def bearing(token: str, **how: Any) -> Request:
    """A request that bears a token."""
    return asked(headers=[("Authorization", f"Bearer {token}")], **how)


def token_text(name: str, token: str, expires: str | None = None, **rights: list[str]) -> str:
    """The entry of a token."""
    lines = ["[[token]]", f'name = "{name}"', f'sha256 = "{digest_of(token).hex()}"']
    lines += [f"expires = {expires}"] if expires else []
    return "\n".join([*lines, *(f"{right} = {names}" for right, names in rights.items())]) + "\n"


def key_text(name: str, id: str, secret: str, **rights: list[str]) -> str:
    """The entry of an AWS key."""
    lines = ["[[key]]", f'name = "{name}"', f'id = "{id}"', f'secret = "{secret}"']
    return "\n".join([*lines, *(f"{right} = {names}" for right, names in rights.items())]) + "\n"


def write_tokens(path: Path, *entries: str, mode: int = 0o600) -> Path:
    """A tokens file; replaced as a whole, as the program does."""
    new = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    new.write_text(f'secret = "{SECRET}"\n' + "\n".join(entries))
    new.chmod(mode)
    return new.replace(path)
