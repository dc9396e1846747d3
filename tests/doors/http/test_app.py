from __future__ import annotations

import asyncio
import json
import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from rowmq.core.delivery import Want
from rowmq.core.errors import QueueNotFound
from rowmq.doors.http.access import Open
from rowmq.doors.http.answer import Answer, text
from rowmq.doors.http.app import App
from rowmq.doors.http.call import Broker, Call
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.route import Family, Route
from rowmq.doors.receipt import Seal
from rowmq.doors.right import ANYBODY, Principal, Right
from rowmq.runtime.client import Client, connect
from rowmq.runtime.gather import Gather

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from rowmq.doors.http.request import Request


class Wanted(msgspec.Struct):
    limit: int = 1
    name: list[str] = []


async def said(call: Call) -> Answer:
    """Say what was asked."""
    return Answer(body=json.dumps({"path": call.path, "now": str(call.now)}).encode())


async def counted(call: Call) -> Answer:
    """Say what was wanted."""
    return Answer(body=msgspec.json.encode(call.query))


async def echo(call: Call) -> Answer:
    """Give it back."""
    return Answer(body=call.body)


async def slow(call: Call) -> Answer:
    """Take a while."""
    await asyncio.sleep(0.2)
    return Answer()


async def broken(call: Call) -> Answer:
    """Break."""
    raise ValueError("the password is swordfish")


async def missing(call: Call) -> Answer:
    """Name a queue that is not there."""
    raise QueueNotFound("emails")


async def pieces(call: Call) -> Answer:
    """Come piece by piece."""

    async def some() -> AsyncIterator[bytes]:
        for piece in (b"one ", b"two"):
            yield piece

    return Answer(body=some())


async def wait(call: Call) -> Answer:
    return Answer(body=b"%d" % await call.wait(["emails"], timedelta(seconds=100)))


async def claim(call: Call) -> Answer:
    """Claim one."""
    found = await call.claim("emails", Want(), wait=timedelta(seconds=float(call.path["wait"])))
    return Answer(body=b"%d" % len(found))


def refuse(error: Exception) -> Answer:
    """Say no, and which kind."""
    status = error.status if isinstance(error, Refusal) else 404
    return text(status, f"{type(error).__name__}: {error}", getattr(error, "headers", {}))


FAMILY = Family(
    "test",
    (
        Route("GET", "/said/{one}/{two}", said, Right.READ, "one"),
        Route("GET", "/said/{one}/last", counted, Right.READ, "one", query=Wanted),
        Route("POST", "/echo", echo, None, open=True, body=bytes, limit=10),
        Route("POST", "/wanted", echo, None, open=True, body=Wanted),
        Route("GET", "/taken", said, None, open=True, consumes=True),
        Route("GET", "/slow", slow, None, open=True),
        Route("GET", "/lasting", slow, None, open=True, lasts=True),
        Route("GET", "/broken", broken, None, open=True),
        Route("GET", "/missing", missing, None, open=True),
        Route("GET", "/pieces", pieces, None, open=True),
        Route("GET", "/denied", said, None),
        Route("GET", "/everywhere", said, Right.READ),
        Route("GET", "/claim/{wait}", claim, Right.CLAIM, lasts=True),
        Route("GET", "/wait", wait, Right.CLAIM, lasts=True),
    ),
    refuse,
)


class Known(Open):
    """Access for one whom everybody is."""

    def __init__(self, principal: Principal = ANYBODY) -> None:
        self._principal = principal

    def principal(self, request: Request) -> Principal:
        return self._principal


class Caller:
    """Asks the application, and can hang up."""

    def __init__(self, app: App) -> None:
        self.app, self.gone = app, asyncio.Event()
        self.sent: list[dict[str, Any]] = []

    async def ask(
        self, method: str, path: str, body: Sequence[bytes] = (b"",), headers: dict[str, str] | None = None
    ) -> tuple[int, bytes, dict[str, str]]:
        coming = list(body)

        async def receive() -> dict[str, Any]:
            if coming:
                piece = coming.pop(0)
                return {"type": "http.request", "body": piece, "more_body": bool(coming)}
            await self.gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            self.sent.append(message)

        path, _, query = path.partition("?")
        given = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": query.encode(), "headers": given, "client": None, "http_version": "1.1",
        }  # fmt: skip
        await self.app(scope, receive, send)
        back = {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}
        return self.sent[0]["status"], b"".join(each["body"] for each in self.sent[1:]), back


def with_app(
    test: Callable[[Callable[[], Caller], Client], Awaitable[None]],
    principal: Principal = ANYBODY,
    **settings: Any,
) -> None:
    async def main() -> None:
        with connect("memory://") as client:
            client.queue("emails")
            gather = Gather(client.store)
            gather.start()
            app = App(Broker(client, gather, Known(principal), Seal(b"key")), [FAMILY], **settings)
            await test(lambda: Caller(app), client)
            await gather.close()

    asyncio.run(main())


def test_names_of_a_path_may_contain_anything_and_a_literal_goes_first() -> None:
    async def test(caller: Callable[[], Caller], client: Client) -> None:
        status, body, _ = await caller().ask("GET", "/said/a%2Fb/%C3%A9%20")
        assert (status, json.loads(body)["path"]) == (200, {"one": "a/b", "two": "é "})
        _, body, _ = await caller().ask("GET", "/said/a/last?limit=3&name=x&name=y")
        assert json.loads(body) == {"limit": 3, "name": ["x", "y"]}

    with_app(test)


@pytest.mark.parametrize(
    "path",
    ["/", "", "/said", "/said/a", "/said//b", "/said/a/b/c", "/said/a/b/", "/%73aid%2Fa/b"],
)
def test_a_path_that_is_none_is_not_found(path: str) -> None:
    async def test(caller: Callable[[], Caller], client: Client) -> None:
        assert (await caller().ask("GET", path))[0] == 404

    with_app(test)


def test_a_method_that_a_path_does_not_take_is_told_those_it_takes() -> None:
    async def test(caller: Callable[[], Caller], client: Client) -> None:
        status, _, headers = await caller().ask("PUT", "/echo")
        assert (status, headers["allow"]) == (405, "POST")

    with_app(test)


def test_head_is_get_without_the_body_unless_the_get_consumes() -> None:
    async def test(caller: Callable[[], Caller], client: Client) -> None:
        status, body, headers = await caller().ask("HEAD", "/said/a/b")
        assert (status, body) == (200, b"")
        assert int(headers["content-length"]) > 20
        assert (await caller().ask("HEAD", "/taken"))[0] == 405
        assert (await caller().ask("HEAD", "/pieces"))[:2] == (200, b"")

    with_app(test)


def test_a_path_or_query_that_is_not_utf8_is_refused() -> None:
    async def test(caller: Callable[[], Caller], client: Client) -> None:
        assert (await caller().ask("GET", "/said/%FF/b"))[0] == 400
        assert (await caller().ask("GET", "/said/a/last?limit=%FF"))[0] == 400

    with_app(test)


@pytest.mark.parametrize(
    ("query", "word"), [("limit=1&limit=2", "twice"), ("limit=x", "limit"), ("limit=1.5", "limit")]
)
def test_a_query_that_is_not_what_it_should_be_is_refused_with_a_reason(query: str, word: str) -> None:
    async def test(caller: Callable[[], Caller], client: Client) -> None:
        status, body, _ = await caller().ask("GET", f"/said/a/last?{query}")
        assert status == 400
        assert word in body.decode()

    with_app(test)


def test_a_body_that_is_not_what_it_should_be_is_refused_with_a_reason() -> None:
    async def test(caller: Callable[[], Caller], client: Client) -> None:
        for body in (b'{"limit": "x"}', b"{", b"\xff", b"[" * 100_000):
            status, answer, _ = await caller().ask("POST", "/wanted", [body])
            assert status == 400
            assert b"body" in answer

    with_app(test)


def test_a_body_in_pieces_is_whole_and_one_that_is_too_large_is_not_read() -> None:
    async def test(caller: Callable[[], Caller], client: Client) -> None:
        assert (await caller().ask("POST", "/echo", [b"one ", b"two"]))[1] == b"one two"
        assert (await caller().ask("POST", "/echo", [b"123456", b"78901"]))[0] == 413
        told = caller()
        assert (await told.ask("POST", "/echo", [], {"content-length": "11"}))[0] == 413

    with_app(test)


def test_an_answer_may_come_piece_by_piece() -> None:
    async def test(caller: Callable[[], Caller], client: Client) -> None:
        asking = caller()
        assert (await asking.ask("GET", "/pieces"))[:2] == (200, b"one two")
        assert [message.get("body") for message in asking.sent[1:]] == [b"one ", b"two", b""]

    with_app(test)


def test_an_error_of_the_engine_is_said_in_the_family_s_language() -> None:
    async def test(caller: Callable[[], Caller], client: Client) -> None:
        assert (await caller().ask("GET", "/missing"))[1].startswith(b"QueueNotFound: there is no queue")

    with_app(test)


def test_a_mistake_of_ours_is_noted_and_not_told(caplog: pytest.LogCaptureFixture) -> None:
    async def test(caller: Callable[[], Caller], client: Client) -> None:
        with caplog.at_level(logging.ERROR, "rowmq"):
            status, body, _ = await caller().ask("GET", "/broken")
        assert status == 500
        assert b"swordfish" not in body
        incident = body.decode().rsplit(" ", 1)[-1]
        assert any(incident in record.getMessage() for record in caplog.records)

    with_app(test)


def test_what_takes_too_long_is_cut_off_unless_it_may_last() -> None:
    async def test(caller: Callable[[], Caller], client: Client) -> None:
        status, body, _ = await caller().ask("GET", "/slow")
        assert (status, b"0.05 seconds" in body) == (408, True)
        assert (await caller().ask("GET", "/lasting"))[0] == 200

    with_app(test, request_timeout=0.05)


def test_a_route_that_says_nothing_of_rights_is_for_nobody() -> None:
    async def test(caller: Callable[[], Caller], client: Client) -> None:
        assert (await caller().ask("GET", "/denied"))[0] == 403

    with_app(test)


def test_a_right_is_needed_on_what_the_path_names_or_else_everywhere() -> None:
    async def test(caller: Callable[[], Caller], client: Client) -> None:
        assert (await caller().ask("GET", "/said/mine/b"))[0] == 200
        assert (await caller().ask("GET", "/said/yours/b"))[0] == 403
        assert (await caller().ask("GET", "/everywhere"))[0] == 403

    with_app(test, Principal("ada", {Right.READ: ("mine",)}))


def test_the_time_is_the_caller_s_to_say_only_in_tests() -> None:
    said = {"rowmq-now": "2030-01-01T00:00:00+00:00"}

    async def test(caller: Callable[[], Caller], client: Client) -> None:
        assert json.loads((await caller().ask("GET", "/said/a/b", headers=said))[1])["now"] == "None"

    async def moved(caller: Callable[[], Caller], client: Client) -> None:
        assert "2030" in json.loads((await caller().ask("GET", "/said/a/b", headers=said))[1])["now"]

    with_app(test)
    with_app(moved, clients_clock=True)


@pytest.mark.parametrize("wait", ["0", "20"])
def test_what_was_claimed_for_a_caller_who_hung_up_is_there_for_the_next(wait: str) -> None:
    async def test(caller: Callable[[], Caller], client: Client) -> None:
        client.push("emails", "hello")
        gone = caller()
        gone.gone.set()
        await gone.ask("GET", f"/claim/{wait}")
        status, body, _ = await caller().ask("GET", "/claim/10")
        assert (status, body) == (200, b"1")
        (record,) = client.find("emails")
        assert record.attempts == 1

    with_app(test)


def test_a_caller_who_hangs_up_while_waiting_is_not_claimed_for() -> None:
    async def test(caller: Callable[[], Caller], client: Client) -> None:
        gone = caller()
        asking = asyncio.create_task(gone.ask("GET", "/claim/20"))
        await asyncio.sleep(0.05)
        gone.gone.set()
        await asking
        client.push("emails", "hello")
        await asyncio.sleep(0.05)
        (record,) = client.find("emails")
        assert record.receives == 0

    with_app(test)


def test_nobody_is_waited_for_who_has_hung_up() -> None:
    async def test(caller: Callable[[], Caller], client: Client) -> None:
        gone = caller()
        asking = asyncio.create_task(gone.ask("GET", "/wait"))
        await asyncio.sleep(0.05)
        gone.gone.set()
        async with asyncio.timeout(10):
            status, _, _ = await asking
        assert status == 499

    with_app(test)
