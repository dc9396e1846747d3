"""A stream of messages, one a line, stored a batch at a time while it comes."""

import asyncio
from collections.abc import AsyncIterator

import msgspec

from rowmq.core.errors import InvalidInput, RowMQError
from rowmq.core.message import Batch, Message
from rowmq.doors.http.call import Call
from rowmq.doors.http.problem import CODES, problem
from rowmq.doors.http.refusal import Refusal, too_large
from rowmq.doors.http.request import Gone
from rowmq.doors.http.route import BODY_LIMIT
from rowmq.stores.remote import reading
from rowmq.stores.remote.history_shapes import Imported, LineError
from rowmq.stores.remote.shapes import NewMessage

LINES = 1000
BYTES = 4 * 2**20
"""How many lines, or bytes of them, make a batch."""
ERRORS = 100
"""How many errors are told; all are counted."""
PATIENCE = 30.0
"""Seconds to wait for the next piece."""
_LINE = msgspec.json.Decoder(NewMessage)


class Import:
    """Reads lines, stores them, and keeps count."""

    def __init__(self, call: Call) -> None:
        self._call, self._queue = call, call.path["queue"]
        self._report = Imported(lines=0, stored=0, seen=0, failed=0, complete=True, errors=[])
        self._waiting: list[tuple[int, Message]] = []
        self._size = 0

    async def run(self) -> Imported:
        """Take the whole stream, or as much of it as comes and the queue accepts."""
        try:
            await self._take_all()
        except Gone:
            raise
        except Refusal as error:
            self._fail(self._report.lines + 1, 1, CODES[error.status], error.sentence)
            self._report.complete = False
        await self._store()
        return self._report

    async def _take_all(self) -> None:
        async for line in self._lines():
            self._report.lines += 1
            self._take(line)
            if len(self._waiting) >= LINES or self._size >= BYTES:
                await self._store()
            if not self._report.complete:
                return

    def _take(self, line: bytes) -> None:
        number = self._report.lines
        if not line.strip():
            return
        try:
            self._waiting.append((number, reading.message(_LINE.decode(line))))
            self._size += len(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._fail(number, 1, "BadRequest", f"this line is not a message: {error}")
        except InvalidInput as error:
            self._fail(number, 1, type(error).__name__, str(error))

    async def _store(self) -> None:
        """Push what has gathered; if it is refused, that was the end."""
        waiting, self._waiting, self._size = self._waiting, [], 0
        if not waiting:
            return
        try:
            pushed = await self._call.push(Batch(self._queue, [message for _, message in waiting]))
        except RowMQError as error:
            self._report.complete = False
            shape = problem(error)
            self._fail(waiting[0][0], len(waiting), shape.code, shape.detail)
        else:
            self._report.stored += len(waiting) - len(pushed.seen)
            self._report.seen += len(pushed.seen)

    def _fail(self, line: int, lines: int, code: str, detail: str) -> None:
        self._report.failed += lines
        if len(self._report.errors) < ERRORS:
            self._report.errors.append(LineError(line, lines, code, detail))

    async def _lines(self) -> AsyncIterator[bytes]:
        begun: list[bytes] = []
        size = 0
        async for piece in self._pieces():
            *lines, rest = piece.split(b"\n")
            for line in lines:
                yield b"".join([*begun, line])
                begun, size = [], 0
            begun.append(rest)
            size += len(rest)
            if size > BODY_LIMIT:
                raise too_large(BODY_LIMIT)
        if size:
            yield b"".join(begun)

    async def _pieces(self) -> AsyncIterator[bytes]:
        pieces = self._call.request.pieces()
        while True:
            try:
                async with asyncio.timeout(PATIENCE):
                    piece = await anext(pieces, None)
            except TimeoutError:
                raise Refusal(408, f"nothing came for {PATIENCE:g} seconds") from None
            if piece is None:
                return
            yield piece
