"""What a user does with a client, its queues and its topics."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import create_engine, text

import rowmq
from rowmq import InvalidMessage, InvalidSetting, LeaseLost, QueueNotFound, Rate

if TYPE_CHECKING:
    from pathlib import Path


def test_a_queue_is_created_once_and_its_settings_are_changed_by_name(mq: rowmq.Client) -> None:
    q = mq.queue("q", max_attempts=7, lease=12.5, retention=timedelta(days=1), rate=(100, 2))
    mq.queue("q", delay=3, backoff={"first": 2, "cap": 60})
    settings = q.settings()
    assert (settings.max_attempts, settings.lease) == (7, timedelta(seconds=12.5))
    assert (settings.retention, settings.delay) == (timedelta(days=1), timedelta(seconds=3))
    assert settings.rate == Rate(limit=100, period=timedelta(seconds=2))
    assert (settings.backoff.first, settings.backoff.factor) == (timedelta(seconds=2), 2.0)
    assert [queue.name for queue in mq.queues()] == ["q"]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"lease": "long"}, "lease is a number of seconds or a timedelta, not 'long'"),
        ({"lease": float("nan")}, "lease is a number of seconds"),
        ({"lease": 1e300}, "too long"),
        ({"lease": True}, "lease is a number of seconds"),
        ({"rate": (1, 2, 3)}, r"rate is \(messages, seconds\)"),
        ({"backoff": {"second": 1}}, "a backoff has no second"),
        ({"colour": "red"}, "a queue has no setting colour"),
    ],
)
def test_settings_that_cannot_be_are_refused_and_nothing_is_made(
    memory: rowmq.Client, settings: Any, sentence: str
) -> None:
    with pytest.raises(InvalidSetting, match=sentence):
        memory.queue("q", **settings)
    assert memory.queues() == []


def test_push_takes_every_option_of_a_message(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    deadline = datetime(2040, 1, 1, tzinfo=UTC)
    own = rowmq.new_id()
    id = q.push({"a": 1}, id=own, delay=60, priority=5, deadline=deadline, group="g", metadata={"v": "1"})
    record = mq.get(str(id))
    assert record is not None
    assert (record.id, record.state, record.payload) == (own, "scheduled", {"a": 1})
    assert (record.priority, record.deadline, record.group) == (5, deadline, "g")
    assert record.metadata == {"v": "1"}


def test_a_dedup_key_gives_back_the_earlier_id_within_its_window(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    first = q.push("x", key="welcome-1", window=3600)
    assert q.push("y", key="welcome-1") == first
    assert mq.push_many("q", ["a", "b"], priority=2) != [first, first]
    assert q.stats().ready == 3


@pytest.mark.parametrize(
    ("payload", "options", "sentence"),
    [
        (object(), {}, "a payload is bytes or a JSON value"),
        ("x", {"delay": -1}, "a delay is between 0 and 3650 days"),
        ("x", {"color": 1}, "a message has no option color; there are delay, at"),
        ("x", {"at": datetime(2026, 1, 1)}, "needs a time zone"),  # noqa: DTZ001 - the point
        ("x", {"metadata": {"a": 1}}, "metadata maps strings to strings"),
    ],
)
def test_a_message_that_cannot_be_is_refused_and_nothing_is_pushed(
    memory: rowmq.Client, payload: Any, options: Any, sentence: str
) -> None:
    q = memory.queue("q")
    with pytest.raises((InvalidMessage, InvalidSetting), match=sentence):
        q.push(payload, **options)
    with pytest.raises((InvalidMessage, InvalidSetting), match=sentence):
        q.push_many(["fine", payload], **options)
    assert q.stats().ready == 0


def test_pushing_to_no_queue_says_so(memory: rowmq.Client) -> None:
    with pytest.raises(QueueNotFound, match="there is no queue 'nowhere'; create it first"):
        memory.push("nowhere", "x")


def test_a_claim_waits_for_the_first_message_and_no_longer(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    threading.Timer(0.2, q.push, ["x"]).start()
    began = time.monotonic()
    (message,) = q.claim(wait=20)
    assert message.payload == "x"
    assert time.monotonic() - began < 15
    assert q.claim(wait=0.05) == []


def test_a_claimed_message_says_everything_about_itself(mq: rowmq.Client) -> None:
    q = mq.queue("q", max_attempts=1)
    id = q.push(b"\x00bytes", priority=3, metadata={"k": "v"})
    (message,) = q.claim(lease=5)
    assert (message.id, message.payload, message.binary, message.queue) == (id, b"\x00bytes", True, "q")
    assert (message.attempt, message.max_attempts, message.last_attempt) == (1, 1, True)
    assert (message.priority, message.group, message.deadline, message.metadata) == (
        3,
        None,
        None,
        {"k": "v"},
    )
    lease = timedelta(seconds=5)
    assert message.created_at + lease <= message.lease_until <= mq.store.now() + lease
    assert message.receipt.seq > 0
    assert str(id) in repr(message)
    assert "bytes" not in repr(message)


def test_ack_retry_kill_and_release_do_what_they_say(mq: rowmq.Client) -> None:
    q = mq.queue("q", backoff={"first": 100, "cap": 100, "jitter": 0})
    for number in range(5):
        q.push(number)
    ack, retry, after, kill, release = q.claim(5)
    ack.ack()
    retry.retry(error="why")
    after.retry(after=10)
    kill.kill("no use")
    release.release()
    states = {record.payload: record for record in q.find()}
    assert [states[n].state for n in range(5)] == ["done", "scheduled", "scheduled", "dead", "ready"]
    now = mq.store.now()
    assert 90 < (states[1].visible_at - now).total_seconds() <= 100  # type: ignore[operator]
    assert 5 < (states[2].visible_at - now).total_seconds() <= 10  # type: ignore[operator]
    assert mq.failures(retry.id)[0].error == "why"
    assert mq.failures(kill.id)[0].error == "no use"
    assert states[4].attempts == 0


def test_a_holder_whose_lease_is_over_is_told_and_changes_nothing(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    q.push("x")
    (stale,) = q.claim(lease=0.001)
    (fresh,) = q.claim(wait=10)
    for act in (stale.ack, stale.retry, stale.kill, stale.release, stale.extend):
        with pytest.raises(LeaseLost, match="went on without this holder"):
            act()
    assert stale.lost
    fresh.ack()
    assert q.stats().done == 1


def test_extend_keeps_a_message_as_long_as_it_was_claimed_for(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    q.push("x")
    (message,) = q.claim(lease=100)
    before = message.lease_until
    assert message.extend() >= before
    assert message.extend(1000) - mq.store.now() > timedelta(seconds=900)
    assert message.lease_until > before


def test_a_pushed_message_appears_if_the_callers_transaction_commits(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'app.db'}"
    engine = create_engine(url)
    with rowmq.connect(url) as mq:
        q = mq.queue("q")
        with engine.connect() as connection:
            connection.execute(text("CREATE TABLE orders (id INTEGER)"))
            connection.execute(text("INSERT INTO orders VALUES (1)"))
            q.push("rolled back", tx=connection)
            connection.rollback()
            connection.execute(text("INSERT INTO orders VALUES (2)"))
            q.push("committed", tx=connection)
            connection.commit()
        assert [record.payload for record in q.find()] == ["committed"]
    engine.dispose()


def test_find_pages_through_everything_and_filters(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    q.push_many(range(1200))
    q.push("special", metadata={"kind": "odd"})
    assert [record.payload for record in q.find()] == [*range(1200), "special"]
    assert [record.payload for record in mq.find(where={"kind": "odd"})] == ["special"]
    assert len(list(q.find(limit=700))) == 700
    assert list(q.find(state="dead")) == []
    with pytest.raises(InvalidSetting, match="a state is one of ready, scheduled"):
        list(q.find(state="asleep"))
    with pytest.raises(InvalidSetting, match="a message id is a UUID, not 'x'"):
        mq.get("x")


def test_dead_messages_are_redriven_and_purged(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    q.push_many(range(4))
    for message in q.claim(4):
        message.kill()
    assert q.redrive(limit=3) == 3
    assert (q.stats().ready, q.stats().dead) == (3, 1)
    assert q.purge() == 3
    assert q.purge(state="dead") == 1
    assert list(q.find()) == []


def test_a_paused_queue_takes_messages_and_gives_none(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    q.pause()
    q.push("x")
    assert q.claim() == []
    q.resume()
    assert len(q.claim()) == 1
    assert q.delete()
    assert not q.delete()


def test_a_topic_reaches_every_subscription(mq: rowmq.Client) -> None:
    orders = mq.topic("orders")
    billing, stock = orders.subscribe("billing", max_attempts=2), orders.subscribe("stock")
    assert orders.publish({"n": 1}, metadata={"v": "1"}) == 2
    assert orders.publish_many([{"n": 2}, {"n": 3}]) == 2
    assert [message.payload["n"] for message in billing.claim(10)] == [1, 2, 3]
    assert orders.subscriptions() == ["billing", "stock"]
    assert mq.topics() == {"orders": ["billing", "stock"]}
    assert orders.unsubscribe("stock")
    assert not orders.unsubscribe("stock")
    orders.publish("more")
    assert stock.stats().ready == 3
    assert billing.settings().max_attempts == 2


def test_everything_can_be_awaited_without_blocking_the_loop(mq: rowmq.Client) -> None:
    async def story() -> Any:
        q = await mq.aio.queue("q")
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.01)

        ticking = asyncio.create_task(tick())
        waiting = asyncio.create_task(q.aio.claim(wait=20))
        while ticks < 5:  # noqa: ASYNC110 - a test looks on
            await asyncio.sleep(0.01)
        assert not waiting.done()
        await q.aio.push({"n": 1})
        (message,) = await waiting
        ticking.cancel()
        return message.payload

    assert asyncio.run(story()) == {"n": 1}


def test_operators_amend_messages_by_id(mq: rowmq.Client) -> None:
    q = mq.queue("q")
    mq.queue("other")
    kill, move = q.push("a"), q.push("b")
    assert mq.amend([kill], "kill") == 1
    assert mq.amend([str(move)], "move", to="other") == 1
    assert (q.stats().dead, mq.queue("other").stats().ready) == (1, 1)
    with pytest.raises(InvalidSetting, match="an amendment is one of retry, kill, move, drop, not 'burn'"):
        mq.amend([kill], "burn")


def test_a_client_shows_its_url_without_the_password() -> None:
    client = rowmq.Client(rowmq.connect("memory://").store, url="postgresql://ada:secret@db/app")
    assert repr(client) == "<rowmq postgresql://ada:***@db/app>"


def test_without_a_url_the_configuration_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ROWMQ_URL", raising=False)
    (tmp_path / "rowmq.toml").write_text('url = "sqlite:///from_file.db"\n')
    with rowmq.connect() as mq:
        assert "from_file.db" in mq.url
    monkeypatch.setenv("ROWMQ_URL", "memory://")
    with rowmq.connect() as mq:
        assert mq.url == "memory://"
    with rowmq.connect(f"sqlite:///{tmp_path}/argument.db") as mq:
        assert mq.url.endswith("argument.db")
