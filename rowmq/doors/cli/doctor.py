"""Looking for what is wrong before it hurts."""

import importlib.metadata
import sqlite3
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import click

from rowmq.core.errors import RowMQError
from rowmq.core.store import Store
from rowmq.doors.cli.output import span_text
from rowmq.doors.cli.session import Session, check_there, with_session
from rowmq.runtime.config_file import find_file
from rowmq.runtime.log import redacted, redacted_text
from rowmq.stores import open_store
from rowmq.stores.sql.store import SQLStore

OK, WARNING, BROKEN = "ok", "warning", "broken"
EXTRAS = {
    "psycopg": "postgres", "pymysql": "mysql", "redis": "redis", "uvicorn": "server",
    "prometheus-client": "metrics", "opentelemetry-api": "tracing",
}  # fmt: skip
WAL_RESET = "this SQLite can lose commits when a checkpoint and a write meet (the WAL-reset bug)"
FAR = timedelta(seconds=2)


class Check(NamedTuple):
    """One thing looked at, and what to do about it."""

    check: str
    state: str
    found: str
    advice: str = ""


@click.command()
@with_session
def doctor(session: Session) -> int:
    """Check the store and this machine, and say what to do about each problem."""
    checks = list(examine(session))
    session.out.listing([each._asdict() for each in checks], Check._fields, none="")
    return int(any(each.state == BROKEN for each in checks))


def examine(session: Session) -> Iterator[Check]:
    """Look at everything, from the configuration outwards; each problem ends only what depends on it."""
    try:
        url = session.config.url
    except RowMQError as error:
        yield Check("configuration", BROKEN, str(error), "correct it")
    else:
        found = find_file(Path.cwd())
        yield Check("configuration", OK, f"{redacted(url)}, {found[0] if found else 'no file'}")
        yield from _store_checks(url)
        if url.startswith("sqlite"):
            yield sqlite_check(sqlite3.sqlite_version_info)
    yield zone_check()
    yield from package_checks()


def _store_checks(url: str) -> Iterator[Check]:
    try:
        check_there(url)
        store = open_store(url, migrate=False, check=False)
        store.now()
    except RowMQError as error:
        advice = "see that the server runs and the URL is right, or run: rowmq init"
        yield Check("connection", BROKEN, redacted_text(str(error)), advice)
        return
    yield Check("connection", OK, "the store answers")
    for check in (schema_check, server_check, durability_check, clock_check):
        try:
            yield check(store)
        except RowMQError as error:
            yield Check(check.__name__.removesuffix("_check"), BROKEN, redacted_text(str(error)))
    store.close()


def schema_check(store: Store) -> Check:
    """Whether the tables are those this version needs."""
    missing = [each.name for each in store.migrator.missing()] if isinstance(store, SQLStore) else []
    if missing:
        return Check("schema", BROKEN, f"{', '.join(missing)} missing", "run: rowmq migrate")
    return Check("schema", OK, "the tables are up to date")


def server_check(store: Store) -> Check:
    """Whether the server itself is one that the store can be on, where that is in question."""
    check = getattr(store, "check", None)
    if check is None:
        return Check("server", OK, "nothing to ask of it")
    check()
    return Check("server", OK, "its version, its memory policy and the layout of the keys are right")


def durability_check(store: Store) -> Check:
    """What an acknowledged write survives."""
    grade, because = store.durability
    found = f"class {grade}: {because}"
    if grade == "A":
        return Check("durability", OK, found)
    advice = "take durability=... out of the URL, or turn the server's fsync and full sync on"
    return Check("durability", WARNING, found, advice)


def clock_check(store: Store) -> Check:
    """How far this machine's clock is from the store's."""
    before = datetime.now(UTC)
    there = store.now()
    away = there - (before + (datetime.now(UTC) - before) / 2)
    found = f"the store's clock is {span_text(abs(away))} {'ahead' if away > timedelta(0) else 'behind'}"
    if abs(away) <= FAR:
        return Check("clock", OK, found)
    advice = "run NTP on both machines; leases go by the store's clock, so nothing is lost meanwhile"
    return Check("clock", WARNING, found, advice)


def sqlite_check(version: tuple[int, ...]) -> Check:
    """Whether this SQLite library has the fix of the WAL-reset bug: 3.51.3, 3.50.7 and 3.44.6 do."""
    text = ".".join(map(str, version))
    fixed = version >= (3, 51, 3) or any(
        version[:2] == (3, minor) and version[2] >= patch for minor, patch in ((50, 7), (44, 6))
    )
    if fixed:
        return Check("sqlite", OK, text)
    advice = "use a Python built with SQLite 3.51.3 or later; until then let one process write"
    return Check("sqlite", WARNING, f"{text}: {WAL_RESET}", advice)


def zone_check() -> Check:
    """Whether schedules can have time zones."""
    try:
        zoneinfo.ZoneInfo("Europe/Berlin")
    except zoneinfo.ZoneInfoNotFoundError:
        return Check("time zones", BROKEN, "there is no time zone data", "run: pip install tzdata")
    return Check("time zones", OK, f"{len(zoneinfo.available_timezones())} zones")


def package_checks() -> Iterator[Check]:
    """What of the optional packages is there."""
    for package, extra in EXTRAS.items():
        try:
            yield Check(package, OK, importlib.metadata.version(package))
        except importlib.metadata.PackageNotFoundError:
            yield Check(package, OK, "not installed", f"if you want it: pip install 'rowmq[{extra}]'")
