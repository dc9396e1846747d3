"""What is written to a connection in one turn of the event loop leaves in one piece."""

import asyncio
from typing import Any


class Joined:
    """A transport that joins writes: an answer's head and its body are one system call and one packet.

    Whatever else is asked of it goes to the real transport, after what was written before.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send it at the end of this turn."""
        if not self._held:
            self._loop.call_soon(self.flush)
        self._held.append(data)

    def flush(self) -> None:
        """Send what is held."""
        if self._held:
            held, self._held = self._held, []
            self._transport.write(held[0] if len(held) == 1 else b"".join(held))

    def close(self) -> None:
        """Close, once everything was sent."""
        self.flush()
        self._transport.close()

    def get_write_buffer_size(self) -> int:
        """How much has not been sent."""
        return self._transport.get_write_buffer_size() + sum(map(len, self._held))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
