"""Bytes from a socket, before they are a request: how many of them may come to nothing."""

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 64 * 1024
"""How many bytes may come without a request's head, or a piece of its body, being complete."""


class Wire(HttpToolsProtocol):
    """Uvicorn's protocol with a bound to what it remembers of a caller who never gets to the point.

    The parser itself keeps an address, a header or a trailer of any length. Trailers are left out: they would
    join the headers after those were checked.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._idle, self._moved, self._in_head = 0, False, True

    def data_received(self, data: bytes) -> None:
        """Take what came; end it if nothing comes of it."""
        self._moved = False
        super().data_received(data)
        self._idle = 0 if self._moved else self._idle + len(data)
        if self._idle > HEAD_BYTES and not self.transport.is_closing():
            self._refuse()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header is complete; or a trailer, which nobody asked for."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self._moved, self._in_head = True, False
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of the body is there."""
        self._moved = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is complete."""
        self._moved = True
        super().on_message_complete()

    def _refuse(self) -> None:
        """Say no and hang up; in the middle of an answer, only hang up."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(
                b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
                b"content-length: 0\r\nconnection: close\r\n\r\n"
            )
        self.transport.close()
