"""Pages that stay current: what comes to who watches, and what becomes of those who leave."""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from rowmq.core.monitor import Counts, Monitor
from rowmq.core.queue import Queue
from rowmq.doors.http.access import Tokens
from rowmq.doors.http.dashboard import hub
from rowmq.doors.http.dashboard.board import Board
from rowmq.doors.http.dashboard.links import link
from rowmq.doors.http.dashboard.look import Scope
from rowmq.doors.http.dashboard.words import key
from rowmq.doors.http.settings import Settings
from rowmq.runtime.client import Client
from rowmq.runtime.log import logger
from tests.doors.http.asked import token_text, write_tokens
from tests.doors.http.dashboard.visiting import Visitor, known
from tests.doors.http.dashboard.watching import watching
from tests.doors.http.serving import serving
from tests.timing import timed

SOON = 2.0


@pytest.fixture
def boards(monkeypatch: pytest.MonkeyPatch) -> list[Board]:
    """The boards of servers that a test starts, to look inside."""
    made: list[Board] = []
    former = Board.of

    def of(settings: Settings) -> Board:
        made.append(former(settings))
        return made[-1]

    monkeypatch.setattr(Board, "of", of)
    return made


def within(true: Callable[[], bool], patience: float = 30.0) -> bool:
    """Whether it becomes true in time."""
    end = time.monotonic() + patience
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


@timed
def test_a_push_is_seen_within_two_seconds(mq: Client, url: str) -> None:
    emails = mq.queue("emails")
    with watching(url, link("live")) as stream:
        stream.sees(f"{key('emails')}-ready", "0")
        emails.push(1)
        assert stream.sees(f"{key('emails')}-ready", "1") < SOON
        stream.sees("total-ready", "1")
        emails.claim()
        assert stream.sees(f"{key('emails')}-leased", "1") < SOON


def test_only_what_has_changed_is_sent(mq: Client, url: str) -> None:
    mq.queue("emails")
    orders = mq.queue("orders")
    with watching(url, link("live")) as stream:
        assert len(stream.next("change")) > 20
        orders.push(1)
        changed = {id for id, *_ in stream.next("change")}
    assert {f"{key('orders')}-ready", "total-ready"} <= changed
    assert not [id for id in changed if id.startswith(key("emails"))]


def test_a_page_that_was_made_from_the_same_samples_is_not_sent_drawings_again(
    mq: Client, visitor: Visitor, url: str
) -> None:
    mq.queue("emails")
    page = visitor.sees()
    path = page.partition('data-live="')[2].partition('"')[0].replace("&amp;", "&")
    with watching(url, path) as stream:
        kinds = {kind for _, kind, *_ in stream.next("change")}
    with watching(url, link("live")) as stream:
        all_kinds = {kind for _, kind, *_ in stream.next("change")}
    assert (kinds, all_kinds) == ({"text"}, {"text", "html"})


def test_a_page_of_one_queue_is_told_of_that_alone(mq: Client, url: str) -> None:
    for name in ("emails", "orders"):
        mq.queue(name)
    with watching(url, link("live", queue="emails")) as stream:
        ids = {id for id, *_ in stream.next("change")}
        assert f"{key('emails')}-ready" in ids
        assert not [id for id in ids if id.startswith(key("orders"))]


def test_another_queue_makes_the_front_page_stale(mq: Client, url: str) -> None:
    with watching(url, link("live")) as stream:
        stream.next("change")
        mq.queue("emails")
        stream.next("stale")


def test_nobody_is_told_of_queues_that_he_may_not_read(mq: Client, tmp_path: Path) -> None:
    for name in ("emails", "secret"):
        mq.queue(name).push(1)
    with serving(mq, **known(tmp_path, ada={"read": ["emails"]})) as url:
        bearer = {"authorization": "Bearer ada"}
        with watching(url, link("live"), **bearer) as stream:
            stream.sees("total-ready", "1")
            assert not [id for id in stream.shown if id.startswith(key("secret"))]
        refused = httpx.get(url + link("live", queue="secret"), headers=bearer)
        assert refused.status_code == 403


def test_a_stream_ends_when_its_token_is_revoked(mq: Client, tmp_path: Path) -> None:
    path = write_tokens(tmp_path / "tokens.toml", token_text("ada", "ada", None, read=["*"]))
    ticks = iter(range(0, 10**7, 1000))
    access = Tokens(path, clock=lambda: float(next(ticks)))
    with (
        serving(mq, access=access, secret=access.secret) as url,
        watching(url, link("live"), authorization="Bearer ada") as stream,
    ):
        stream.next("change")
        write_tokens(path, token_text("bob", "bob", None, read=["*"]))
        stream.next("over")
        assert stream.ended.wait(30)


class Anybody(hub.Viewer):
    """A viewer of no page at all."""

    def choose(self, queues: Sequence[Queue]) -> Sequence[Queue]:
        return queues

    def scope(self, queues: Sequence[Queue]) -> Scope:
        raise NotImplementedError


def test_a_viewer_is_told_why_before_his_stream_ends() -> None:
    async def told() -> tuple[bool, bytes, bool]:
        viewer = Anybody()
        viewer.say("over", None)
        viewer.end()
        return viewer.over, await viewer.take(SOON), viewer.over

    assert asyncio.run(told()) == (False, b"event: over\ndata: null\n\n", True)


def test_a_viewer_who_hangs_up_is_forgotten_and_nobody_looks_any_more(
    mq: Client, boards: list[Board]
) -> None:
    with serving(mq) as url:
        (board,) = boards
        with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port)) as viewer:
            viewer.sendall(b"GET /ui/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert within(lambda: len(board.hub) == 1)
        assert within(lambda: not len(board.hub))
        assert within(lambda: board.hub._task is not None and board.hub._task.done())


def test_a_server_that_stops_does_not_wait_for_viewers(mq: Client) -> None:
    with ExitStack() as later:
        with serving(mq, stop_timeout=30) as url:
            stream = later.enter_context(watching(url, link("live")))
            stream.next("change")
            started = time.monotonic()
        assert time.monotonic() - started < 20
        assert stream.ended.wait(30)


def test_one_viewer_more_than_there_may_be_is_told_so(
    mq: Client, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "MOST", 1)
    with watching(url, link("live")) as stream:
        stream.next("change")
        refused = httpx.get(url + link("live"))
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")
    assert "1 pages are being watched already" in refused.text


@timed
def test_many_viewers_are_one_look(mq: Client, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mq.queue("emails")
    monitor, looks = mq.store.monitor, []  # type: ignore[attr-defined]

    def counts(queues: Any, **rest: Any) -> dict[str, Counts]:
        looks.append(list(queues))
        return type(monitor).counts(monitor, queues, **rest)  # type: ignore[no-any-return]

    monkeypatch.setattr(monitor, "counts", counts)
    with (
        watching(url, link("live")) as one,
        watching(url, link("live")) as two,
        watching(url, link("live", queue="emails")) as three,
    ):
        for stream in (one, two, three):
            stream.next("change")
        looks.clear()
        mq.queue("emails").push(1)
        for stream in (one, two, three):
            stream.sees(f"{key('emails')}-ready", "1")
    assert len(looks) <= 4
    assert set(map(tuple, looks)) == {("emails",)}


def test_a_store_that_fails_is_told_of_once_and_the_stream_goes_on(
    mq: Client, url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(logger, "propagate", True)
    monkeypatch.setattr(hub, "PATIENCE", 0.05)
    caplog.set_level(logging.WARNING, logger=logger.name)
    mq.queue("emails")
    monitor: Monitor = mq.store.monitor  # type: ignore[attr-defined]
    with watching(url, link("live")) as stream:
        stream.sees("total-ready", "0")
        with monkeypatch.context() as broken:
            broken.setattr(monitor, "counts", None)
            assert stream.next("trouble") == "The store does not answer"
            time.sleep(0.3)  # several looks fail meanwhile, and nothing more is said
        mq.queue("emails").push(1)
        stream.sees("total-ready", "1")
    told = [record.getMessage() for record in caplog.records if record.getMessage().startswith("http.live")]
    assert len([text for text in told if "TypeError" in text]) == 1  # servers of other tests may be ending


def test_a_head_of_a_stream_is_no_viewer(mq: Client, boards: list[Board]) -> None:
    with serving(mq) as url:
        assert httpx.head(url + link("live")).status_code == 200
        assert not len(boards[0].hub)


@timed
def test_a_queue_that_is_paused_elsewhere_is_marked(mq: Client, url: str) -> None:
    mq.queue("emails")
    with watching(url, link("live")) as stream:
        stream.sees(f"{key('emails')}-paused", "")
        mq.queue("emails", paused=True)
        assert stream.sees(f"{key('emails')}-paused", "paused") < SOON
