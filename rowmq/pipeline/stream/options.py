"""The options of a stream."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from rowmq.core.delivery import LARGEST_CLAIM
from rowmq.core.errors import InvalidSetting
from rowmq.core.where import Where
from rowmq.pipeline.options import Form, Option, Origin, conditions, natural, one_of, seconds, text
from rowmq.pipeline.stream.batches import LARGEST_BYTES, PER_GROUP


def _rows(value: str) -> int:
    rows = natural(value)
    if rows > LARGEST_CLAIM:
        raise InvalidSetting(f"one claim takes at most {LARGEST_CLAIM} messages, not {rows}")
    return rows


@dataclass(frozen=True, kw_only=True)
class StreamOptions(Origin):
    """What a stream takes."""

    where: Annotated[Where, Option("where", conditions)] = ()
    max_age: Annotated[timedelta | None, Option("maxAge", seconds)] = None
    payload: Annotated[Form, Option("payload", one_of("text", "binary"))] = "text"
    payload_schema: Annotated[str | None, Option("payloadSchema", text)] = None
    partitions: Annotated[int | None, Option("partitions", natural)] = None
    max_rows: Annotated[int, Option("maxRowsPerTrigger", _rows)] = 10_000
    max_bytes: Annotated[int, Option("maxBytesPerTrigger", natural)] = LARGEST_BYTES
    max_runs: Annotated[int, Option("maxRuns", natural)] = 3
    per_group: Annotated[int, Option("perGroup", natural)] = PER_GROUP
    lease: Annotated[timedelta | None, Option("lease", seconds)] = None
    poll: Annotated[timedelta, Option("poll", seconds)] = timedelta(seconds=1)
