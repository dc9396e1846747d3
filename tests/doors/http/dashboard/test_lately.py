"""What pages say about time: tiles of the last hour, charts from their first point on, the store's clock."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rowmq.core.durations import histogram
from rowmq.core.history import FailedAttempt
from rowmq.core.monitor import MINUTE, QUARTER, Sample
from rowmq.doors.http.dashboard import overview
from rowmq.doors.http.dashboard.figures import begins
from rowmq.doors.http.dashboard.links import link
from rowmq.doors.http.dashboard.words import key
from rowmq.runtime.client import Client
from tests.doors.http.dashboard.test_overview import cell, keep
from tests.doors.http.dashboard.visiting import Visitor, known
from tests.doors.http.dashboard.watching import watching
from tests.doors.http.serving import serving

QUICK, SLOW = [2_000_000], [200_000_000]


def shown(page: str, part: str) -> str:
    """What a tile of the queue says."""
    found = re.search(rf'<span id="{key("emails")}-{part}">(.*?)</span>', page)
    assert found is not None, part
    return found[1]


def sampled(mq: Client, now: datetime) -> None:
    """Have a quick hour after a slow day."""
    mq.queue("emails")
    minute, quarter = begins("hour", now) + 30 * MINUTE, begins("day", now) + 10 * QUARTER
    keep(
        mq,
        Sample(queue="emails", at=minute, span=MINUTE, done=7, waits=histogram(QUICK), runs=histogram(QUICK)),
        Sample(
            queue="emails", at=quarter, span=QUARTER, done=70, waits=histogram(SLOW), runs=histogram(SLOW)
        ),
    )


@pytest.mark.parametrize("reach", ["hour", "day"])
def test_the_tiles_of_a_queue_are_of_the_last_hour_as_what_comes_live_is(
    mq: Client, url: str, visitor: Visitor, reach: str
) -> None:
    sampled(mq, mq.store.now())
    page = visitor.sees("queues", "emails", reach=reach)
    assert shown(page, "wait") == shown(page, "run")
    assert shown(page, "wait") == "1.9 s / 1.9 s"
    with watching(url, link("live", queue="emails", reach=reach)) as stream:
        stream.sees(f"{key('emails')}-ready", "0")
        assert stream.shown[f"{key('emails')}-wait"] == shown(page, "wait")
        assert stream.shown[f"{key('emails')}-run"] == shown(page, "run")


def test_the_charts_of_a_queue_are_drawn_from_what_was_sampled(mq: Client, visitor: Visitor) -> None:
    sampled(mq, mq.store.now())
    hour, day = (visitor.sees("queues", "emails", reach=reach) for reach in ("hour", "day"))
    assert numbers(hour, "chart-flow") == [7]
    assert numbers(day, "chart-flow") == [70]
    assert "done at most 7, at last 0" in hour
    assert "p50 at most 1.9" in hour


def numbers(page: str, id: str) -> list[int]:
    """The first line of a chart, in numbers, newest first, without the times at which nothing was."""
    figure = re.search(rf'<figure class="chart" id="{id}">(.*?)</figure>', page, re.DOTALL)
    assert figure is not None
    rows = re.findall(r'<tr><th scope="row">[\d:]+</th><td[^>]*>(\d+)</td>', figure[1])
    return [int(each) for each in rows]


def test_the_first_points_of_a_chart_are_what_happened_then(mq: Client, visitor: Visitor) -> None:
    """While the last samples are still to come, a chart begins earlier; what it begins with is read, too."""
    mq.queue("emails")
    first = begins("hour", mq.store.now())
    keep(
        mq,
        *(
            Sample(queue="emails", at=first + number * MINUTE, span=MINUTE, done=9)
            for number in range(-3, 58)
        ),
    )
    assert numbers(visitor.sees("queues", "emails"), "chart-flow") == [9] * 60


def test_an_attempt_is_shown_with_its_times_its_duration_and_its_consumer(
    mq: Client, visitor: Visitor
) -> None:
    id = mq.queue("emails").push(1)
    seq = mq.store.history.find("emails").records[0].seq
    begun = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)
    attempt = FailedAttempt(1, "emails", "worker-7", begun, begun + timedelta(seconds=75), "no route")
    mq.store.tables.failures[seq] = [attempt]  # type: ignore[attr-defined]
    page = visitor.sees("messages", id)
    item = re.search(r'<li class="dead">(.*?)</li>', page, re.DOTALL)
    assert item is not None
    said = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", item[1])).strip()
    assert said.startswith("Attempt 1 failed at worker-7")
    assert "begun 2026-05-01 09:30:00" in said
    assert "ended 2026-05-01 09:31:15" in said
    assert "took 1 min 15 s" in said
    assert said.endswith("no route")


def test_a_row_of_the_front_page_has_who_consumes_and_what_failed(mq: Client, visitor: Visitor) -> None:
    mq.queue("emails")
    for name in ("ada", "bob"):
        mq.store.consumers.beat("emails", name, timedelta(minutes=5))
    at = begins("hour", mq.store.now()) + 50 * MINUTE
    keep(mq, Sample(queue="emails", at=at, span=MINUTE, failed=35))
    page = visitor.sees()
    assert cell(page, "emails", "consumers") == "2"
    assert "failed attempts in the last hour: 35" in page


def test_what_is_said_of_many_queues_says_of_which(
    mq: Client, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "PAGE", 2)
    for name in ("a", "b"):
        mq.queue(name)
    assert "queues on this page" not in visitor.sees()
    mq.queue("c")
    assert "Of the 2 queues on this page:" in visitor.sees()
    assert "Of the 1 queues on this page:" in visitor.sees(after="b")


def test_ages_go_by_the_clock_of_the_store(mq: Client, visitor: Visitor) -> None:
    """This machine's may be wrong: a lease that ends in an hour does not end in three."""
    there = datetime.now(UTC) + timedelta(hours=2)
    mq.store.tables.tells_time = lambda: there  # type: ignore[attr-defined]
    id = mq.queue("emails", lease=3600).push(1)
    mq.queue("emails").claim()
    page = visitor.sees("messages", id)
    assert "its lease ends in 1 h" in page
    assert "3 h" not in page


def test_a_token_that_is_called_nobody_is_somebody(mq: Client, tmp_path: Path) -> None:
    with serving(mq, **known(tmp_path, nobody={"read": ["*"]})) as url, Visitor(url, "nobody") as nobody:
        page = nobody.sees()
        assert 'aria-label="Pages"' in page
        assert 'id="go-id"' in page
        assert 'aria-label="Pages"' not in nobody.http.get("/ui/login").text


@pytest.mark.parametrize("part", ["", "consumers", "topics", "schedules", "archives", "health", "messages"])
def test_a_message_is_found_by_its_id_from_every_page(mq: Client, visitor: Visitor, part: str) -> None:
    id = mq.queue("emails").push(1)
    page = visitor.sees(*([part] if part else []))
    form = re.search(r'<form class="search go"[^>]*action="([^"]+)"', page)
    assert form is not None
    answer = visitor.http.get(form[1], params={"id": str(id)})
    assert answer.headers["location"] == link("messages", id)
