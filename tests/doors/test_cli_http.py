"""The program on a store behind a server: the same commands, another URL."""

from collections.abc import Iterator

import pytest

from tests.doors.http.serving import serving
from tests.doors.program import Program


@pytest.fixture
def url() -> Iterator[str]:
    with serving() as url:
        yield url


def test_a_message_is_pushed_claimed_extended_and_acked_over_http(rowmq: Program, url: str) -> None:
    rowmq("queues", "create", "emails", "--url", url)
    rowmq("push", "emails", '{"to": "ada"}', "--url", url)
    (claimed,) = rowmq("claim", "emails", "--json", "--url", url).lines
    assert claimed["payload"] == {"to": "ada"}
    rowmq("extend", claimed["receipt"], "--lease", "60", "--url", url)
    rowmq("ack", claimed["receipt"], "--url", url)
    (stats,) = rowmq("stats", "emails", "--json", "--url", url).json
    assert stats["done"] == 1


def test_a_receipt_that_was_made_up_is_lost_over_http(rowmq: Program, url: str) -> None:
    ran = rowmq("ack", f"7-{'0' * 88}", "--url", url, code=None)
    assert ran.code != 0
    assert "Traceback" not in ran.err


def test_the_environment_names_the_server(rowmq: Program, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWMQ_URL", url)
    rowmq("queues", "create", "emails")
    rowmq("push", "emails", "1")
    assert "emails" in rowmq("queues", "list").out
    assert rowmq("purge", "emails", "--yes").code == 0
