"""The Lua scripts: each is its own file with the shared parts that its second line names in front."""

import hashlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Script(NamedTuple):
    """A script as the server gets it."""

    text: bytes
    sha: str
    writes: bool


@cache
def script(name: str) -> Script:
    """The script of this name, put together."""
    shebang, parts, rest = _read(f"{name}.lua").split("\n", 2)
    shared = "".join(_read(f"shared/{part}.lua") for part in parts.removeprefix("--! ").split())
    text = f"{shebang}\n{shared}{rest}".encode()
    return Script(text, hashlib.sha1(text, usedforsecurity=False).hexdigest(), "no-writes" not in shebang)


def _read(path: str) -> str:
    return (files("rowmq.stores.redis") / "lua" / path).read_text(encoding="utf-8")
