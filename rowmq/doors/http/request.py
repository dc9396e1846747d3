"""What a caller sends, read no further than it may go."""

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, unquote

from rowmq.doors.http.refusal import Refusal, bad_request, too_large

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
QUERY_FIELDS = 1000


class Request:
    """One request: its method, path, query and headers, and its body once somebody asks for it."""

    __slots__ = ("_receive", "_whole", "method", "scope")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope, self._receive = scope, receive
        self.method: str = scope["method"]
        self._whole: bytes | None = None

    @property
    def path(self) -> str:
        """The path as it came, still percent-encoded."""
        raw: bytes | None = self.scope.get("raw_path")
        return raw.decode("latin-1") if raw is not None else self.scope["path"]

    @property
    def parts(self) -> list[str]:
        """The path's segments, decoded one by one: a name may contain a slash."""
        try:
            path = self.path
            parts = path.split("/")[1:]
            return [unquote(part, errors="strict") for part in parts] if "%" in path else parts
        except UnicodeDecodeError:
            raise bad_request("the path is not UTF-8") from None

    @property
    def query(self) -> list[tuple[str, str]]:
        """The query's fields in order, also those without a value."""
        text: bytes = self.scope["query_string"]
        if not text:
            return []
        try:
            return parse_qsl(
                text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=QUERY_FIELDS
            )
        except ValueError:
            raise bad_request(
                f"the query is not UTF-8, percent-encoded, of at most {QUERY_FIELDS} fields"
            ) from None

    def header(self, name: bytes) -> str | None:
        """A header's value, by its name in lower case."""
        for key, value in self.scope["headers"]:
            if key == name:
                return str(value.decode("latin-1"))
        return None

    async def body(self, limit: int) -> bytes:
        """The whole body, of at most so many bytes; more is refused before it is read."""
        if self._whole is None:
            self._whole = await self._read(limit)
        return self._whole

    async def _read(self, limit: int) -> bytes:
        length = self.header(b"content-length")
        if length is not None and int(length) > limit:
            raise too_large(limit)
        pieces, size = [], 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Gone
            piece = message.get("body", b"")
            size += len(piece)
            if size > limit:
                raise too_large(limit)
            pieces.append(piece)
            if not message.get("more_body", False):
                return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes, for who does not keep it; only if nobody has asked for the whole."""
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Gone
            more = message.get("more_body", False)
            yield message.get("body", b"")

    async def leaves(self) -> None:
        """Return when the caller has gone; what is left of its body is thrown away."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def gone(self) -> bool:
        """Whether the caller has gone; what is left of its body is thrown away.

        One step of the server's own receive tells: it is done at once, or would wait.
        """
        while True:
            step = self._receive().__await__()
            try:
                next(step)
            except StopIteration as told:
                if told.value["type"] == "http.disconnect":
                    return True
            else:
                step.close()
                return False


class Gone(Refusal):
    """The caller hung up in the middle: nobody will read the answer."""

    def __init__(self) -> None:
        super().__init__(499, "the caller has gone")
