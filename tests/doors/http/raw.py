"""Bytes at a server's port, and what it says to them."""

import asyncio
import re
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

AT_ONCE = 32
STATUS = re.compile(rb"^HTTP/1\.[01] (\d{3}) ", re.MULTILINE)


def say(url: str, *pieces: bytes, wait: float = 30.0) -> bytes:
    """Send pieces over one connection; all that comes back until it is closed, or nothing more comes."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=wait) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
        except OSError:
            pass  # it has heard enough
        return _heard(connection)


def _heard(connection: socket.socket) -> bytes:
    heard = b""
    try:
        while piece := connection.recv(2**16):
            heard += piece
    except OSError:
        pass
    return heard


def statuses(heard: bytes) -> list[int]:
    """The statuses of all answers in what came back."""
    return [int(each) for each in STATUS.findall(heard)]


def say_each(url: str, cases: Sequence[bytes], *, wait: float = 0.1) -> list[list[int]]:
    """Say each over a connection of its own, some at a time; the statuses of each one's answers."""

    async def all_of_them() -> list[list[int]]:
        turn = asyncio.Semaphore(AT_ONCE)
        return list(await asyncio.gather(*(_said(url, case, turn, wait) for case in cases)))

    return asyncio.run(all_of_them())


async def _said(url: str, case: bytes, turn: asyncio.Semaphore, wait: float) -> list[int]:
    address = urlsplit(url)
    async with turn:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        heard = b""
        try:
            writer.write(case)
            async with asyncio.timeout(wait):
                heard = await reader.read(2**16)
        except (OSError, TimeoutError):
            pass  # it waits for more, or has hung up
        finally:
            writer.close()
        return statuses(heard)
