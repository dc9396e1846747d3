"""One event is one line, and no line holds a payload or a password."""

import ast
import io
import json
import logging
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowmq.core.errors import InvalidInput, InvalidSetting, RowMQError
from rowmq.core.history import Amendment
from rowmq.core.message import Batch, Message
from rowmq.core.outcome import ACK, Bury, Release, Retry
from rowmq.runtime.answers import Kill, Snooze
from rowmq.runtime.claimed import ClaimedMessage
from rowmq.runtime.client import connect
from rowmq.runtime.log import (
    JSONFormatter,
    LogEvents,
    TextFormatter,
    configure,
    event,
    first_line,
    logger,
    redacted,
)
from rowmq.stores.memory import MemoryStore
from rowmq.testing import build

CANARY = "canary-7731"
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    """Puts the logger back."""
    before = logger.handlers[:], logger.level, logger.propagate
    yield
    logger.handlers[:], logger.level, logger.propagate = before


@pytest.fixture
def lines() -> io.StringIO:
    """Everything logged, at any level, as JSON lines."""
    return _writing_to(logger, JSONFormatter())


def test_an_event_is_readable_and_its_fields_are_with_the_record(caplog: pytest.LogCaptureFixture) -> None:
    id = UUID(int=7)
    with caplog.at_level("DEBUG", "rowmq"):
        event(logger, "warning", "message.failed", queue="emails", id=id, after=timedelta(seconds=5))
    (record,) = caplog.records
    assert record.getMessage() == f"message.failed queue=emails id={id} after=5.0"
    assert record.levelno == logging.WARNING
    assert vars(record)["rowmq"] == {
        "event": "message.failed",
        "queue": "emails",
        "id": str(id),
        "after": 5.0,
    }
    assert record.filename == "test_log.py"


def test_an_event_below_the_level_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "rowmq"):
        event(logger, logging.DEBUG, "message.done")
        event(logger, logging.INFO, "worker.started")
    assert caplog.messages == ["worker.started"]


@pytest.mark.parametrize("field", ["payload", "body", "time", "level", "event", "exception"])
@pytest.mark.parametrize("level", ["debug", "error"])
def test_a_field_that_would_hold_a_payload_or_hide_a_lines_own_is_refused(field: str, level: str) -> None:
    with pytest.raises(
        InvalidInput, match="field is not called body, event, exception, level, payload, time"
    ):
        event(logger, level, "message.failed", **{field: CANARY})  # type: ignore[arg-type]


def test_of_values_that_are_not_plain_only_the_type_is_logged(lines: io.StringIO) -> None:
    event(logger, "error", "odd", raw=CANARY.encode(), map={"a": CANARY}, parts=["a", 1, object()])
    assert _only(lines)["raw"] == "<bytes>"
    assert _only(lines)["map"] == "<dict>"
    assert _only(lines)["parts"] == ["a", 1, "<object>"]
    assert CANARY not in lines.getvalue()


def test_a_json_line_has_time_level_event_fields_and_exception(lines: io.StringIO) -> None:
    error = ValueError("no\nsuch")
    event(logger, "error", "store.down", tries=3, ratio=float("nan"), since=None, exc_info=error)
    line = _only(lines)
    assert line.pop("exception") == "ValueError: no\nsuch"
    assert abs(datetime.fromisoformat(line.pop("time")) - datetime.now(UTC)) < timedelta(minutes=1)
    assert line == {"level": "ERROR", "event": "store.down", "tries": 3, "ratio": "nan", "since": None}


@pytest.mark.parametrize("formatter", [TextFormatter(), JSONFormatter()], ids=["text", "json"])
def test_urls_in_values_and_exceptions_show_no_password(formatter: logging.Formatter) -> None:
    out, url = _writing_to(logger, formatter), f"postgresql://ada:{CANARY}@db/jobs"
    event(
        logger, "error", "store.down", url=url, error=f"no: {url}, {url}", exc_info=ValueError(f"url={url}")
    )
    assert out.getvalue().count("ada:***@db/jobs") == 4
    assert CANARY not in out.getvalue()


def test_records_that_are_no_events_are_formatted_too(lines: io.StringIO) -> None:
    logger.getChild("stores").warning("slow\n%s", "disk")
    assert _only(lines)["event"] == "slow\ndisk"


def test_values_that_could_be_taken_for_fields_are_quoted(caplog: pytest.LogCaptureFixture) -> None:
    event(logger, "warning", "x", a="b c=d", b="", c='say "hi"', d="é", e="back\\slash", f=["p", "q"])
    assert caplog.messages == ['x a="b c=d" b="" c="say \\"hi\\"" d=é e="back\\\\slash" f=p,q']


@pytest.mark.parametrize("formatter", [TextFormatter(), JSONFormatter()], ids=["text", "json"])
@given(text=st.text() | st.sampled_from(["\n", "\r\n", "a\x1b[2Jb", "\u2028", "\x85", "\u202e", "\ud800"]))
def test_one_event_is_one_line_whatever_the_text(formatter: logging.Formatter, text: str) -> None:
    apart = logging.Logger("apart")  # noqa: LOG001 - outside the tree, so that nothing else hears it
    out = _writing_to(apart, formatter)
    event(apart, "error", text, value=text, exc_info=ValueError(text))
    apart.error("%s", text)
    written = out.getvalue()
    assert written.endswith("\n")
    assert all(line.isprintable() for line in written[:-1].split("\n"))
    assert len(written.splitlines()) == 2


def test_configuring_writes_to_standard_error_and_again_replaces(capsys: pytest.CaptureFixture[str]) -> None:
    configure("debug", "text")
    configure("INFO", "json")
    event(logger, "debug", "message.done")
    event(logger, "info", "worker.started", worker="w")
    assert json.loads(capsys.readouterr().err)["event"] == "worker.started"
    configure(logging.DEBUG)
    event(logger, "debug", "message.done")
    assert capsys.readouterr().err.endswith("Z DEBUG message.done\n")


@pytest.mark.parametrize(("level", "format"), [("loud", "text"), ("info", "xml")])
def test_configuring_nonsense_says_what_there_is(level: str, format: str) -> None:
    before = logger.handlers[:]
    with pytest.raises(InvalidSetting, match=r"one of .*(debug|json)"):
        configure(level, format)
    assert logger.handlers == before


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ada:S@db:5432/jobs", "postgresql://ada:***@db:5432/jobs"),
        ("redis://:S@db/0", "redis://:***@db/0"),
        ("postgresql+psycopg://ada:%53%40S@db/jobs", "postgresql+psycopg://ada:***@db/jobs"),
        ("postgresql://db/jobs?user=ada&password=S", "postgresql://db/jobs?user=ada&password=***"),
        ("postgresql://db/jobs?passfile=S&x=1", "postgresql://db/jobs?passfile=***&x=1"),
        ("postgresql://db/jobs?pass%77ord=S", "postgresql://db/jobs?pass%77ord=***"),
        ("mysql://db/jobs?ssl_key_PASSWORD=S", "mysql://db/jobs?ssl_key_PASSWORD=***"),
        ("sqlite:///jobs.db", "sqlite:///jobs.db"),
        ("memory://", "memory://"),
        ("postgresql://ada@db:5432/jobs", "postgresql://ada@db:5432/jobs"),
        ("jobs.db", "jobs.db"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert redacted(url) == shown


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:S@S@db/jobs",
        "postgresql://ada:S/S?S#S@db/jobs",
        "postgresql://ada:S?password=S@db/jobs",
        "postgresql://ada@b:S?password=S@db/jobs",
        "postgresql://db:5432/jobs?password=S@S",
        "postgresql://db/jobs?password=S&S;S=S&x=1",
        "postgresql://db/jobs?x=1?password=S",
        "postgresql://ada%3AS@db/jobs",
        "postgresql:/ada:S@db/jobs",
        "ada:S@db/jobs",
        "ada:S://S@db",
        "ada:S@db://jobs",
        " postgresql://ada:S S@db/jobs",
        "postgresql://ada:S\n@[::1/jobs",
        "host=db user=ada password = S",
        "://:S@",
    ],
)
def test_a_malformed_url_shows_no_password_either(url: str) -> None:
    secret = "sWORDf1sh"  # noqa: S105
    assert secret not in redacted(url.replace("S", secret))


@given(user=st.text("ab%:/?", max_size=4), tail=st.text(max_size=8), head=st.text(max_size=8))
def test_whatever_stands_around_it_a_users_password_is_hidden(user: str, head: str, tail: str) -> None:
    assert CANARY not in redacted(f"postgresql://{user}:{head}{CANARY}{tail}@db/jobs")


def test_the_first_line_of_an_error_has_no_password_and_an_end() -> None:
    assert first_line("\n cannot reach redis://:S@db, giving up: bye\nmore") == (
        "cannot reach redis://:***@db, giving up: bye"
    )
    assert len(first_line("x" * 10_000)) == 200


def test_failures_are_logged_with_their_error_and_first_line(lines: io.StringIO) -> None:
    message = _claimed()
    LogEvents().after(message, Retry(error="Traceback ..."), ValueError(f"no user 7\n{CANARY}"))
    line = _only(lines)
    assert (line["event"], line["level"]) == ("message.failed", "WARNING")
    assert line["id"] == str(message.id)
    assert (line["queue"], line["attempt"], line["outcome"]) == ("q", 1, "retry")
    assert (line["error"], line["reason"]) == ("ValueError", "no user 7")
    assert CANARY not in lines.getvalue()


def test_a_failure_without_an_exception_is_logged_with_what_its_holder_said(lines: io.StringIO) -> None:
    LogEvents().after(_claimed(), Bury(error="gave up\nbecause"), None)
    assert (_only(lines)["outcome"], _only(lines)["reason"]) == ("bury", "gave up")
    assert "error" not in _only(lines)


def test_what_goes_well_is_logged_at_debug_only(lines: io.StringIO) -> None:
    LogEvents().after(_claimed(), ACK, None)
    LogEvents().after(_claimed(), Release(), None)
    logger.setLevel(logging.INFO)
    LogEvents().after(_claimed(), ACK, None)
    assert [(line["event"], line["level"]) for line in _all(lines)] == [
        ("message.done", "DEBUG"),
        ("message.released", "DEBUG"),
    ]
    assert CANARY not in lines.getvalue()


def test_a_lost_message_is_logged(lines: io.StringIO) -> None:
    LogEvents().on_lost(_claimed())
    assert (_only(lines)["event"], _only(lines)["level"]) == ("message.lost", "WARNING")


@pytest.mark.parametrize("formatter", [TextFormatter(), JSONFormatter()], ids=["text", "json"])
def test_neither_payloads_nor_passwords_are_logged_whatever_happens(formatter: logging.Formatter) -> None:
    out = _writing_to(logging.getLogger(), formatter)  # everything that anybody logs
    logger.setLevel(logging.DEBUG)
    with connect(f"memory://ada:{CANARY}@db?password={CANARY}") as mq:
        logger.debug("%r", mq)
        jobs = mq.queue("jobs", max_attempts=2, backoff={"first": 0, "jitter": 0})
        jobs.handler(_obey)
        for order in ("done", "fail", "kill", "snooze", "lose"):
            jobs.push({"order": order, "card": CANARY}, metadata={"note": CANARY})
        jobs.push(CANARY.encode())
        mq.store.push([Batch("jobs", [Message(id=UUID(int=9), body=f"[{CANARY}".encode())])])
        mq.worker(stop_when_empty=True).run()
    with pytest.raises(RowMQError) as refused:
        connect(f"postgresql://ada:{CANARY}@127.0.0.1:1/jobs?connect_timeout=1")
    logging.getLogger().removeHandler(logging.getLogger().handlers[-1])
    told = set(re.findall(r"\b(?:message|worker)\.[a-z]+", out.getvalue()))
    assert told >= {"message.done", "message.failed", "message.lost", "message.released", "worker.started"}
    assert CANARY not in out.getvalue() + str(refused.value)


def test_a_worker_says_when_it_starts_and_stops(lines: io.StringIO) -> None:
    with connect("memory://") as mq:
        mq.queue("jobs").handler(_obey)
        mq.worker(name="w", stop_when_empty=True).run()
    started, stopped = [line for line in _all(lines) if line["event"].startswith("worker.")]
    assert (started["event"], started["worker"], started["queues"]) == ("worker.started", "w", ["jobs"])
    assert (stopped["event"], stopped["worker"]) == ("worker.stopped", "w")


def test_the_documented_events_are_those_of_the_code() -> None:
    rows = re.findall(
        r"^\| `([a-z_.]+)` \| (\w+) \|", (ROOT / "docs/observability.md").read_text(), re.MULTILINE
    )
    events = [row for row in rows if not row[0].startswith("rowmq_")]
    assert sorted(events) == sorted(set(_events_in_code()))


def _obey(message: ClaimedMessage) -> Snooze | None:
    order = message.payload["order"]
    if order == "fail":
        raise ValueError("no such order")
    if order == "kill":
        raise Kill("never")
    if order == "lose":
        message._store.history.amend([message.id], Amendment.KILL)
    return Snooze(after=60) if order == "snooze" else None


def _claimed() -> ClaimedMessage:
    store = MemoryStore()
    build.put_queue(store)
    build.push(store, build.message({"card": CANARY}, metadata={"note": CANARY}))
    return ClaimedMessage(build.claim_one(store), store)


def _writing_to(to: logging.Logger, formatter: logging.Formatter) -> io.StringIO:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(formatter)
    to.addHandler(handler)
    to.setLevel(logging.DEBUG)
    return out


def _all(lines: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.getvalue().splitlines()]


def _only(lines: io.StringIO) -> dict[str, Any]:
    (line,) = _all(lines)
    return line


def _events_in_code() -> Iterator[tuple[str, str]]:
    """Calls of event(), and of a logger's method with an event's name, which is where event() cannot be."""
    for path in (ROOT / "rowmq").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("event", "jot")
            ):
                level, name = node.args[1:3]
                said = level.attr if isinstance(level, ast.Attribute) else ast.literal_eval(level)
                yield ast.literal_eval(name), said.lower()
        for method, name in re.findall(r"""\.(exception|error|warning)\("(\w+\.\w+)[ "]""", path.read_text()):
            yield name, "error" if method == "exception" else method
