"""Importing: another system's messages are moved over as they stand, once, however often it is run."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import Observation
from pyspark.sql.functions import col, count, count_if, lit

from rowmq.core.errors import InvalidSetting
from rowmq.core.store import Store
from rowmq.pipeline.importing.gomq import Gomq
from rowmq.pipeline.importing.gq import Gq
from rowmq.pipeline.importing.gqs import Gqs
from rowmq.pipeline.importing.hq import Hq
from rowmq.pipeline.importing.pgq import Pgq
from rowmq.pipeline.importing.rows import ROWS, Part, Place, System, batches
from rowmq.pipeline.opening import store_at
from rowmq.pipeline.registration import register
from rowmq.pipeline.writing.staging import stages_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SYSTEMS: Mapping[str, System] = {"pgq": Pgq(), "gqs": Gqs(), "hq": Hq(), "gq": Gq(), "gomq": Gomq()}


class Imported(NamedTuple):
    """What was found in one place, and where it went."""

    name: str
    to: str
    topic: bool
    rows: int
    done: int
    dead: int


def places_of(system: str, url: str, *, queue: str | None = None, to: str | None = None) -> list[Place]:
    """The queues that a system has there, or the one of this name, and where they are to go.

    Raises InvalidSetting if there is none, or several are to go to one.
    """
    found = [each for each in SYSTEMS[system].places(url) if queue in (None, each.name)]
    if not found:
        what = "nothing laid out as its queues are" if queue is None else f"no queue {queue!r}"
        raise InvalidSetting(f"there is {what} by {system}; look at --from and --queue")
    if to is not None and len(found) > 1:
        names = ", ".join(each.name for each in found)
        raise InvalidSetting(f"--to is for one queue, and there are {names}: say --queue too")
    return found if to is None else [found[0]._replace(target=to)]


def rows_of(
    spark: "SparkSession", system: str, url: str, place: Place, now: datetime, *, parse: bool = False
) -> "DataFrame":
    """The messages of a place in the order in which they were made, as the sink takes them."""
    parts = SYSTEMS[system].parts(url, place)
    tasks = spark.createDataFrame([tuple(part) for part in parts], "first string, last string")
    read = partial(_read, system, url, place, now, parse=parse)
    found = tasks.repartition(len(parts)).mapInArrow(read, ROWS)
    return found.orderBy("past.created_at", "place").drop("place")


def move(rows: "DataFrame", url: str, place: Place) -> Imported:
    """Write a place's messages to its target, which is made if need be; they count together."""
    register(rows.sparkSession)
    store = store_at(url)
    _make(store, place)
    if place.topic:
        rows = rows.drop("past")
    elif stages_of(store) is None:
        rows = rows.where("past.state is null").drop("past")
    seen = Observation()
    watched = rows.observe(seen, *_figures(rows))
    options = {"url": url, "topic" if place.topic else "queue": place.target}
    watched.write.format("rowmq").options(**options).mode("append").save()
    return imported(place, seen.get)


def look(rows: "DataFrame", place: Place) -> Imported:
    """What :func:`move` would find."""
    first = rows.agg(*_figures(rows)).first()
    return imported(place, first.asDict() if first else {})


def imported(place: Place, figures: Mapping[str, Any]) -> Imported:
    """The figures of a place."""
    numbers = [int(figures.get(name, 0)) for name in ("rows", "done", "dead")]
    return Imported(place.name, place.target, place.topic, *numbers)


def _figures(rows: "DataFrame") -> list[Any]:
    state = col("past.state") if "past" in rows.columns else lit("")
    return [count(lit(1)).alias("rows"), *(count_if(state == each).alias(each) for each in ("done", "dead"))]


def _make(store: Store, place: Place) -> None:
    if not place.topic and store.queues.get(place.target) is None:
        store.queues.put(place.target, place.settings)


def _read(
    system: str,
    url: str,
    place: Place,
    now: datetime,
    tasks: Iterable["pa.RecordBatch"],
    *,
    parse: bool,
) -> Iterator["pa.RecordBatch"]:
    """On an executor: the messages of the parts that are its."""
    for batch in tasks:
        for row in batch.to_pylist():
            part = Part(row["first"], row["last"])
            yield from batches(SYSTEMS[system].read(url, place, part, now), parse=parse)
