"""Answers in JSON, whole or line by line."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import msgspec

from rowmq.core.errors import RowMQError
from rowmq.core.history import Page
from rowmq.doors.http.answer import NDJSON, Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.problem import problem
from rowmq.stores.remote import writing
from rowmq.stores.remote.shapes import Counted, Done

ENCODER = msgspec.json.Encoder()
SLICE = 500
"""How many messages are read at once for a stream."""


def json(value: Any, status: int = 200) -> Answer:
    """A value."""
    return Answer(status, ENCODER.encode(value))


def counted(count: int) -> Answer:
    """How many."""
    return json(Counted(count))


def done(*, changed: bool) -> Answer:
    """Whether it changed anything."""
    return json(Done(changed))


def streamed(call: Call, page: Callable[[int], Page], after: int, last: int) -> Answer:
    """Messages as lines of JSON, page by page, from one seq to another."""
    return Answer(200, _lines(call, page, after, last), NDJSON)


async def _lines(call: Call, page: Callable[[int], Page], after: int, last: int) -> AsyncIterator[bytes]:
    """A page at a time, as long as somebody reads; what goes wrong in the middle is the last line."""
    position: int | None = after
    while position is not None and not call.request.gone():
        try:
            found = await call.run(lambda start=position: page(start))  # type: ignore[misc]
        except RowMQError as error:
            yield ENCODER.encode_lines([{"problem": problem(error)}])
            return
        records = [each for each in found.records if each.seq <= last]
        yield ENCODER.encode_lines(writing.records(records))
        position = found.after if len(records) == len(found.records) else None


def list_of(shape: Callable[..., Any], values: Sequence[Any]) -> list[Any]:
    """Values as a shape that has the same fields."""
    return [like(shape, each) for each in values]


def like(shape: Any, value: Any) -> Any:
    """A value as a shape that has the same fields."""
    return shape(*(getattr(value, name) for name in shape.__struct_fields__))
