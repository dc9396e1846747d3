"""What every command on Spark shares: its options, its session, and a bar that Spark itself moves."""

import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from sqlalchemy.engine import make_url

from rowmq.core import errors
from rowmq.core.errors import InvalidSetting, RowMQError
from rowmq.doors.cli.completion import complete_queue
from rowmq.doors.cli.output import Output
from rowmq.doors.cli.session import Session, check_there
from rowmq.doors.cli.words import MOMENT, PAIR, moment_at
from rowmq.runtime.log import escaped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
Said = datetime | timedelta | None
LOOK_EVERY = 0.2
"""Seconds between two looks at how far Spark is."""
_OURS = re.compile(r"rowmq\.core\.errors\.(\w+): (.+)")
_LAST = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Exception)): (.+)$", re.MULTILINE)

queue_option: Decorator = click.option(
    "-q", "--queue", shell_complete=complete_queue, help="Only this queue; all of them by default."
)
dry_run_option: Decorator = click.option(
    "--dry-run", is_flag=True, help="Say what would be done, and do nothing."
)


def spark_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --master and --conf, which spark_job takes."""
    master = click.option(
        "--master", metavar="MASTER", envvar="ROWMQ_SPARK_MASTER",
        help="Where Spark runs: local[2], spark://host:7077, yarn, k8s://..., sc://host:15002.",
    )  # fmt: skip
    conf = click.option(
        "--conf", type=PAIR, multiple=True, help="A setting of Spark's, KEY=VALUE; may be repeated."
    )
    return master(conf(function))


def period_options(what: str) -> Decorator:
    """Add --since and --until, which :func:`period` reads; ``what`` happened then, e.g. "Finished"."""
    since = click.option("--since", type=MOMENT, help=f"{what} then or later; a span means that long ago.")
    until = click.option("--until", type=MOMENT, help=f"{what} before then; a span means that long ago.")
    return lambda function: since(until(function))


def period(now: datetime, since: Said, until: Said) -> tuple[datetime | None, datetime | None]:
    """The moments that --since and --until mean, by the store's clock."""
    start, end = moment_at(since, now, back=True), moment_at(until, now, back=True)
    if start is not None and end is not None and start >= end:
        raise InvalidSetting(f"a period ends after it begins, but {end} is not after {start}")
    return start, end


def store_url(session: Session) -> str:
    """The URL of a store that exists, as executors can use it too: a file's path is absolute."""
    url = session.config.url
    check_there(url)
    parsed = make_url(url)
    if parsed.drivername.startswith("sqlite") and parsed.database not in (None, "", ":memory:"):
        parsed = parsed.set(database=str(Path(str(parsed.database)).resolve()))
    return parsed.render_as_string(hide_password=False)


@contextmanager
def spark_job(
    session: Session, what: str, *, master: str | None, conf: Sequence[tuple[str, str]] = ()
) -> "Iterator[SparkSession]":
    """A Spark session for one command, with a bar that shows its tasks; stopped if it was made here.

    What Spark raises comes out as our own error where an executor raised one, and as one sentence otherwise.
    """
    from rowmq.pipeline.session import check_spark  # noqa: PLC0415 - Spark is an extra
    from rowmq.pipeline.session import session as start  # noqa: PLC0415 - the same

    check_spark()
    from pyspark.errors import PySparkException  # noqa: PLC0415 - the same
    from pyspark.sql import SparkSession  # noqa: PLC0415 - the same

    mine = SparkSession.getActiveSession() is None
    _check_conf(conf)
    # On this machine nothing is logged: we say in a sentence what Spark would say in a hundred lines.
    spark = start(master, name=f"rowmq {what}", log="OFF", **dict(conf))
    try:
        with task_bar(session.out, spark, what):
            yield spark
    except (PySparkException, _java_error()) as error:
        raise plain_error(error) from error
    finally:
        if mine:
            spark.stop()


def _check_conf(conf: Sequence[tuple[str, str]]) -> None:
    for key, _ in conf:
        if not key.startswith("spark."):
            raise InvalidSetting(f"--conf takes Spark's settings, whose names begin with spark., not {key!r}")


@contextmanager
def task_bar(out: Output, spark: Any, what: str) -> Iterator[None]:
    """A bar on standard error, if that is a terminal, as long as the tasks of Spark's running stages."""
    if out.as_json or not sys.stderr.isatty():
        yield
        return
    parts = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        TextColumn("tasks"), TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*parts, console=Console(stderr=True, markup=False), transient=True) as bar:
        task = bar.add_task(escaped(what), total=None)
        with watched(spark, lambda done, total: bar.update(task, completed=done, total=total or None)):
            yield


@contextmanager
def watched(spark: Any, show: Callable[[int, int], None]) -> Iterator[None]:
    """Call ``show`` with the finished and all tasks of what Spark is doing, now and then."""
    if hasattr(spark, "registerProgressHandler") and not _has_context(spark):
        with _handled(spark, show):
            yield
        return
    over = threading.Event()
    looking = threading.Thread(target=_look, args=(spark, show, over), daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()


def plain_error(error: Exception) -> RowMQError | click.ClickException:
    """Our own error, if one is behind what Spark raised; otherwise the last cause it names."""
    text = str(error)
    ours = _OURS.search(text)
    kind = getattr(errors, ours[1], None) if ours else None
    if ours and isinstance(kind, type) and issubclass(kind, RowMQError):
        again = kind.__new__(kind)  # some take a name and make the sentence of it: this is the sentence
        again.args = (ours[2].strip(),)
        return again
    causes = _LAST.findall(text)
    said = f"{causes[-1][0]}: {causes[-1][1]}" if causes else text.strip().partition("\n")[0]
    return click.ClickException(f"Spark could not do it: {said}")


def _has_context(spark: Any) -> bool:
    """Whether Spark runs below this process, not behind Spark Connect."""
    return not type(spark).__module__.startswith("pyspark.sql.connect")


@contextmanager
def _handled(spark: Any, show: Callable[[int, int], None]) -> Iterator[None]:
    def handler(stages: Iterable[Any] | None, **_: Any) -> None:
        known = list(stages or ())
        show(sum(each.num_completed_tasks for each in known), sum(each.num_tasks for each in known))

    spark.registerProgressHandler(handler)
    try:
        yield
    finally:
        spark.removeProgressHandler(handler)


def _look(spark: Any, show: Callable[[int, int], None], over: threading.Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    while not over.wait(LOOK_EVERY):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [each for each in stages if each is not None]
        show(sum(each.numCompletedTasks for each in known), sum(each.numTasks for each in known))


def _java_error() -> type[Exception]:
    """What a call into the JVM raises when Spark has no better word; over Connect there is no such thing."""
    try:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped] # noqa: PLC0415 - Spark is an extra
    except ModuleNotFoundError:
        return RowMQError
    found: type[Exception] = Py4JError
    return found
