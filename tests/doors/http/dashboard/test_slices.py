"""Work on many messages: as much as a request has time for, and in nobody's way."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from rowmq.doors.http.dashboard import slices
from rowmq.doors.http.dashboard.slices import Slices, in_time
from rowmq.runtime import gather
from rowmq.runtime.client import Client
from tests.doors.http.dashboard.visiting import Visitor


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of two, and no time for a second one."""
    monkeypatch.setattr(slices, "SLICE", 2)
    monkeypatch.setattr(slices, "PATIENCE", 0.0)


def stock(count: int) -> Callable[[int], int]:
    """Something of which there is so much, to be taken from."""
    left = [count]

    def take(most: int) -> int:
        taken = min(most, left[0])
        left[0] -= taken
        return taken

    return take


@pytest.mark.parametrize(("there", "limit", "found"), [(5, None, 5), (4, None, 4), (5, 3, 3), (0, None, 0)])
def test_with_time_everything_is_done(
    monkeypatch: pytest.MonkeyPatch, there: int, limit: int | None, found: int
) -> None:
    monkeypatch.setattr(slices, "SLICE", 2)
    assert in_time(stock(there), limit) == Slices(found, more=False)


@pytest.mark.usefixtures("small")
def test_without_time_one_slice_is_done_and_it_is_known_that_there_is_more() -> None:
    assert in_time(stock(5)) == Slices(2, more=True)
    assert in_time(stock(5), limit=2) == Slices(2, more=False)
    assert in_time(stock(1)) == Slices(1, more=False)


def test_it_takes_no_more_than_a_part_of_what_a_request_may_take() -> None:
    started = time.monotonic()
    assert in_time(lambda most: most, within=0.06).more
    assert time.monotonic() - started < slices.PATIENCE / 2


@pytest.mark.usefixtures("small")
def test_a_purge_says_how_far_it_came_and_pressing_again_does_the_rest(mq: Client, visitor: Visitor) -> None:
    queue = mq.queue("emails")
    queue.push_many(range(5))
    said = [visitor.does("queues", "emails", "purge", state="") for _ in range(3)]
    assert said == [
        "purged 2 waiting messages of emails so far; press again for the rest",
        "purged 2 waiting messages of emails so far; press again for the rest",
        "purged 1 waiting message of emails",
    ]
    assert queue.stats().ready == 0


@pytest.mark.usefixtures("small")
def test_a_redrive_says_how_far_it_came_and_keeps_to_its_limit(mq: Client, visitor: Visitor) -> None:
    queue = mq.queue("emails")
    queue.push_many(range(5))
    for message in queue.claim(limit=5):
        message.kill("no")
    said = [visitor.does("queues", "emails", "redrive", limit=limit) for limit in ("3", "2", "")]
    assert said == [
        "redrove 2 messages of emails so far; press again for the rest",
        "redrove 2 messages of emails",
        "redrove 1 message of emails",
    ]
    assert queue.stats().ready == 5


def test_programs_do_not_wait_for_what_people_have_done(
    mq: Client, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many purges go on as there are threads for them; a call that is not gathered is answered."""
    mq.queue("emails").push(1)
    begun, over = threading.Semaphore(0), threading.Event()
    purge = mq.store.queues.purge

    def slow(*given: object, **options: object) -> int:
        begun.release()
        over.wait(20)
        return purge(*given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(mq.store.queues, "purge", slow)
    with ThreadPoolExecutor(gather.ASIDE) as people:
        purges = [people.submit(_purge, url) for _ in range(gather.ASIDE)]
        try:
            for _ in purges:
                assert begun.acquire(timeout=20)
            answer = httpx.get(f"{url}/v1/queues/emails/stats", timeout=10)
            assert answer.json()["ready"] == 1
        finally:
            over.set()
        assert [each.result() for each in purges] == [303] * gather.ASIDE


def _purge(url: str) -> int:
    with Visitor(url) as visitor:
        visitor.gets("queues", "emails")
        return visitor.sends("queues", "emails", "purge", state="").status_code
