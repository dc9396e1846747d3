"""The front page: which queues are on it, what it says of each, and its charts."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from rowmq.core.durations import histogram
from rowmq.core.monitor import MINUTE, MOST_COUNTED, QUARTER, Counts, Sample
from rowmq.core.queue import Queue
from rowmq.doors.http.dashboard import overview
from rowmq.doors.http.dashboard.figures import begins
from rowmq.doors.http.dashboard.row import standings, summed
from rowmq.doors.http.dashboard.words import key
from rowmq.runtime.client import Client
from tests.doors.http.dashboard.visiting import Visitor, known
from tests.doors.http.serving import serving


def cell(page: str, name: str, part: str) -> str:
    """What an element of a queue shows."""
    found = re.search(rf'<span id="{key(name)}-{part}"[^>]*>(.*?)</span>', page, re.DOTALL)
    assert found is not None, f"{name} has no {part}"
    return found[1]


def names(page: str) -> list[str]:
    """The queues on a page, in order."""
    return re.findall(r'<th scope="row"><a class="name"[^>]*><bdi>(.*?)</bdi>', page)


def keep(mq: Client, *samples: Sample) -> None:
    """Have samples that were taken before."""
    mq.store.tables.samples = sorted(samples, key=lambda each: (each.at, each.queue))  # type: ignore[attr-defined]


def test_every_queue_is_shown_with_its_counts_and_its_age(mq: Client, visitor: Visitor) -> None:
    emails = mq.queue("emails")
    for _ in range(1234):
        emails.push(1)
    emails.push(1, delay=60)
    emails.claim(limit=3)
    (dead,) = emails.claim()
    dead.kill("no")
    mq.queue("orders")
    page = visitor.sees()
    shown = {part: cell(page, "emails", part) for part in ("ready", "scheduled", "leased", "dead")}
    assert shown == {"ready": "1,230", "scheduled": "1", "leased": "3", "dead": "1"}
    assert re.fullmatch(r"\d+ s", cell(page, "emails", "oldest"))
    assert cell(page, "orders", "oldest") == "-"
    assert names(page) == ["emails", "orders"]
    assert 'id="total-ready">1,230<' in page


def test_what_was_not_counted_to_the_end_has_a_plus() -> None:
    queue = Queue(name="emails")
    assert standings(queue, Counts(ready=MOST_COUNTED), 0)["ready"].value == "250,000+"
    more = Counts(ready=7, dead=1, more=True)
    assert standings(queue, more, 0)["dead"].value == "1+"
    assert summed([Counts(ready=3), more])["ready"].value == "10+"
    assert summed([Counts(ready=3), Counts(ready=4)])["ready"].value == "7"


def test_what_deserves_a_look_is_told_by_more_than_its_number() -> None:
    queue = Queue(name="emails")
    assert standings(queue, Counts(dead=1), 0)["dead"].looks == "n alarm"
    assert standings(queue, Counts(), 0)["dead"].looks == "n zero"
    assert standings(queue, Counts(), 2)["consumers"].looks == "n"


def test_the_last_hour_of_each_queue_is_drawn_and_timed(mq: Client, visitor: Visitor) -> None:
    mq.queue("emails")
    first = begins("hour", mq.store.now())
    keep(
        mq,
        *(
            Sample(
                queue="emails",
                at=first + place * MINUTE,
                span=MINUTE,
                done=10,
                failed=2,
                waits=histogram([20_000] * 9 + [3_000_000]),
                runs=histogram([100_000]),
            )
            for place in range(60)
        ),
    )
    page = visitor.sees()
    assert cell(page, "emails", "done") == "10/min"
    assert cell(page, "emails", "failed") == "2/min"
    assert re.fullmatch(r"(19|2\d) ms / [23](\.\d)? s", cell(page, "emails", "wait"))
    assert re.fullmatch(r"(9\d|10\d|110) ms / (9\d|10\d|110) ms", cell(page, "emails", "run"))
    assert "<title>done in the last hour: 600; in a minute at most 10</title>" in page


def test_the_charts_are_of_the_last_hour_or_day_and_of_all_queues_together(
    mq: Client, visitor: Visitor
) -> None:
    mq.queue("emails")
    mq.queue("orders")
    now = mq.store.now()
    hour, day = begins("hour", now), begins("day", now)
    keep(
        mq,
        *(Sample(queue=name, at=hour + 59 * MINUTE, span=MINUTE, done=21) for name in ("emails", "orders")),
        *(Sample(queue=name, at=day + 95 * QUARTER, span=QUARTER, done=400) for name in ("emails", "orders")),
    )
    assert "<b>42</b>" in visitor.sees()
    assert "Throughput, a minute" in visitor.sees(reach="hour")
    page = visitor.sees(reach="day")
    assert "<b>800</b>" in page
    assert "Throughput, a quarter of an hour" in page


def test_new_samples_appear_without_a_new_server(mq: Client, visitor: Visitor) -> None:
    mq.queue("emails").push(1)
    assert cell(visitor.sees(), "emails", "done") == "0/min"
    last = begins("hour", mq.store.now()) + 59 * MINUTE
    keep(mq, Sample(queue="emails", at=last, span=MINUTE, done=50))
    moved = {"rowmq-now": (mq.store.now() + timedelta(seconds=6)).isoformat()}
    with serving(mq, clients_clock=True) as url, Visitor(url) as later:
        assert cell(later.sees(), "emails", "done") == "10/min"
        keep(
            mq,
            Sample(queue="emails", at=last, span=MINUTE, done=50),
            Sample(queue="emails", at=last - MINUTE, span=MINUTE, done=50),
        )
        assert cell(later.http.get("/ui", headers=moved).text, "emails", "done") == "20/min"


def test_queues_are_found_by_a_part_of_their_names(mq: Client, visitor: Visitor) -> None:
    for name in ("emails", "Orders.EU", "orders.us"):
        mq.queue(name)
    assert names(visitor.sees(q="ORDERS")) == ["Orders.EU", "orders.us"]
    nothing = visitor.sees(q="<b>")
    assert names(nothing) == []
    assert "No queue has “&lt;b&gt;” in its name" in nothing


def test_many_queues_are_shown_a_page_at_a_time(
    mq: Client, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "PAGE", 2)
    for name in ("a", "b&b", "c", "d", "e"):
        mq.queue(name)
    seen, page = [], visitor.sees(reach="day")
    while True:
        seen.append(names(page))
        found = re.search(r'<a class="button" href="([^"]+)">Next</a>', page)
        if found is None:
            break
        assert "reach=day" in found[1]
        page = visitor.http.get(found[1].replace("&amp;", "&")).text
    assert seen == [["a", "b&amp;b"], ["c", "d"], ["e"]]
    assert "1 of 5 queues" in page


def test_an_empty_store_says_how_to_begin(visitor: Visitor) -> None:
    assert "rowmq push emails" in visitor.sees()


def test_only_queues_that_one_may_read_are_shown_counted_and_drawn(mq: Client, tmp_path: Path) -> None:
    for name in ("emails", "secret"):
        mq.queue(name).push(1)
    last = begins("hour", mq.store.now()) + 59 * MINUTE
    keep(mq, *(Sample(queue=name, at=last, span=MINUTE, done=21) for name in ("emails", "secret")))
    with serving(mq, **known(tmp_path, ada={"read": ["emails"]}, bob={"push": ["*"]})) as url:
        with Visitor(url, "ada") as ada:
            page = ada.sees()
            assert names(page) == ["emails"]
            assert "secret" not in page
            assert 'id="total-ready">1<' in page
            assert "<b>21</b>" in page
            assert ada.gets("queues", "secret").status_code == 403
        with Visitor(url, "bob") as bob:
            assert "There is no queue yet that you may see" in bob.sees()


def test_a_query_that_makes_no_sense_is_refused_with_a_sentence(visitor: Visitor) -> None:
    answer = visitor.gets(reach="year")
    assert answer.status_code == 400
    assert "the query is not what it should be" in answer.text
    assert visitor.http.get("/ui?q=a&q=b").status_code == 400
