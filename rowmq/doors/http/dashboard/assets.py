"""Styles, script and icon: files of the package, at addresses that change when they do."""

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.route import Route

TYPES = {
    "dashboard.css": "text/css; charset=utf-8",
    "dashboard.js": "text/javascript; charset=utf-8",
    "queue.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
HEADERS = {
    "cache-control": "public, max-age=31536000, immutable",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
}


class Asset(NamedTuple):
    """A file that pages ask for."""

    content: bytes
    address: str


@cache
def asset(name: str) -> Asset:
    """The file of this name, read once."""
    content = files("rowmq.doors.http.dashboard").joinpath("assets", name).read_bytes()
    return Asset(content, f"/ui/assets/{name}?v={sha256(content).hexdigest()[:12]}")


def address(name: str) -> str:
    """Where a page finds the file."""
    return asset(name).address


async def assets(call: Call) -> Answer:
    """A file that pages ask for."""
    name = call.path["name"]
    if name not in TYPES:
        raise Refusal(404, "there is no such file")
    return Answer(200, asset(name).content, TYPES[name], HEADERS)


ROUTES = (Route("GET", "/ui/assets/{name}", assets, None, open=True),)
