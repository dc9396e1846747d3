"""pgq's queue: publish many, consumer options, handler results, metrics, spans; and what goes wrong there.

pgq's words and ours: Publish = push_many; injectors = mq.use(Inject(...)); scheduled_for = at; lock
duration = lease; polling interval = poll; max parallel = concurrency; max consumed count = the queue's
max_attempts (0 = None); history limit = max_age; metadata filters = where; stop on empty = stop_when_empty;
invalid-message callback = on_invalid; processed, no error (ack) = return; processed with an error (discard)
= raise Kill; not processed (nack) = raise anything else; ack timeout and reserve = timeout, and leases that
are kept anyway.

The table as an interface, handy SQL and added columns are shown in tests/stores/test_views.py and
test_schema.py, daily partitions in test_partitions.py.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry
from sqlalchemy import Connection, create_engine, make_url, text

import rowmq
from rowmq import ClaimedMessage, Client, Condition, Kill, QueueHandle, Reason, State
from rowmq.runtime.metrics import Metrics
from rowmq.runtime.tracing import Tracing
from rowmq.stores.views import view
from tests.seeds.watching import eventually, working
from tests.stores.places import DRIVERS
from tests.stores.work import counting
from tests.timing import timed

AT_ONCE = {"first": 0, "cap": 0}
LONG = "ein sehr langer Warteschlangenname " * 7


@contextmanager
def own_connection(url: str) -> Iterator[Connection]:
    """A connection of the caller's own to the same database."""
    parsed = make_url(url)
    engine = create_engine(parsed.set(drivername=DRIVERS.get(parsed.drivername, parsed.drivername)))
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def drain(mq: Client, **options: Any) -> None:
    mq.worker(stop_when_empty=True, **options).run()


def seen_by(jobs: QueueHandle) -> list[Any]:
    """The payloads that a queue's handler gets, from now on."""
    seen: list[Any] = []
    jobs.handler(lambda message: seen.append(message.payload))
    return seen


# ---- publishing --------------------------------------------------------------------------------------------


def test_many_messages_are_published_at_once_and_their_ids_come_in_order(mq: Client) -> None:
    jobs = mq.queue("jobs")
    ids = jobs.push_many([{"n": n} for n in range(100)], metadata={"kind": "batch"})
    assert [(record.id, record.payload) for record in jobs.find()] == [
        (id, {"n": n}) for n, id in enumerate(ids)
    ]
    assert all(record.metadata == {"kind": "batch"} for record in jobs.find())


def test_many_messages_are_published_all_or_none(mq: Client) -> None:
    jobs = mq.queue("jobs", max_length=5)
    with pytest.raises(rowmq.QueueFull):
        jobs.push_many(range(6))
    assert jobs.stats().ready == 0


def test_injectors_add_metadata_to_everything_that_is_published(mq: Client) -> None:
    mq.use(rowmq.Inject(lambda: {"host": "web-1", "version": "1"}))
    mq.use(rowmq.Inject(lambda: {"trace": "abc"}))
    jobs = mq.queue("jobs")
    plain, own = jobs.push("x"), jobs.push("x", metadata={"version": "2"})
    with jobs.producer(batch=2) as producer:
        gathered = producer.push("x")
    found = {record.id: record.metadata for record in jobs.find()}
    assert found[plain] == found[gathered] == {"host": "web-1", "version": "1", "trace": "abc"}
    assert found[own]["version"] == "2"


def test_a_message_published_for_later_waits_for_its_time(mq: Client) -> None:
    jobs = mq.queue("jobs")
    at = datetime.now(UTC) + timedelta(seconds=0.3)
    id = jobs.push("later", at=at)
    assert jobs.claim() == []
    (message,) = jobs.claim(wait=10)
    assert message.id == id
    assert mq.store.now() >= at


def test_scheduled_messages_do_not_starve_plain_ones_nor_the_other_way_round(mq: Client) -> None:
    jobs = mq.queue("jobs")
    jobs.push("plain")
    jobs.push_many(["overdue"] * 20, at=datetime.now(UTC) - timedelta(hours=1))
    jobs.push("scheduled", delay=0.1)
    jobs.push_many(["far"] * 20, delay=3600)
    time.sleep(0.15)
    jobs.push("plain again")
    order = [message.payload for message in jobs.claim(100)]
    assert order == ["plain", *["overdue"] * 20, "scheduled", "plain again"]


@pytest.mark.parametrize("commits", [True, False])
def test_a_publication_in_the_callers_transaction_counts_if_that_commits(
    mq: Client, url: str, commits: bool
) -> None:
    jobs = mq.queue("jobs")
    with own_connection(url) as own:
        own.execute(text("CREATE TABLE orders (n integer)"))
        own.commit()
        own.execute(text("INSERT INTO orders VALUES (1)"))
        jobs.push("ship it", tx=own)
        jobs.push_many(["bill it", "file it"], tx=own)
        own.commit() if commits else own.rollback()
        orders = own.execute(text("SELECT count(*) FROM orders")).scalar_one()
        own.execute(text("DROP TABLE orders"))
        own.commit()
    assert (orders, jobs.stats().ready) == ((1, 3) if commits else (0, 0))


def test_an_ack_in_the_callers_transaction_counts_if_that_commits(mq: Client, url: str) -> None:
    jobs = mq.queue("jobs")
    jobs.push("x")
    (message,) = jobs.claim()
    with own_connection(url) as own:
        message.ack(tx=own)
        own.rollback()
        assert jobs.stats().leased == 1
        message.ack(tx=own)
        own.commit()
    assert jobs.stats().done == 1


# ---- a message in the handler ------------------------------------------------------------------------------


def test_a_message_knows_its_attempt_from_one_its_deadline_and_whether_it_is_the_last(mq: Client) -> None:
    jobs = mq.queue("jobs", max_attempts=3, backoff=AT_ONCE, lease=60)
    jobs.push("x", metadata={"k": "v"})
    told = []

    @jobs.handler
    def work(message: ClaimedMessage) -> None:
        left = message.lease_until - mq.store.now()
        told.append((message.attempt, message.last_attempt, message.metadata["k"]))
        assert timedelta(seconds=50) < left <= timedelta(seconds=60)
        raise ValueError("again")

    with working(mq):
        eventually(lambda: jobs.stats().dead == 1)
    assert told == [(1, False, "v"), (2, False, "v"), (3, True, "v")]


def test_a_holder_may_shorten_its_own_deadline(mq: Client) -> None:
    jobs = mq.queue("jobs", lease=3600)
    jobs.push("x")
    (message,) = jobs.claim()
    assert message.extend(0.2) < mq.store.now() + timedelta(seconds=1)
    (again,) = jobs.claim(wait=10)
    assert again.id == message.id


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_a_handler_that_uses_up_its_time_has_failed(mq: Client, is_async: bool) -> None:
    jobs = mq.queue("jobs", max_attempts=1)
    id = jobs.push("x")
    stopped = threading.Event()

    def work(message: ClaimedMessage) -> None:
        eventually(lambda: message.lost)
        stopped.set()

    async def work_async(message: ClaimedMessage) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    jobs.handler(work_async if is_async else work)
    with working(mq, timeout=0.2):
        eventually(lambda: jobs.stats().dead == 1)
        assert stopped.wait(60)
    assert "TimeoutError" in mq.failures(id)[0].error


# ---- what a handler's end means ----------------------------------------------------------------------------


def test_a_handler_that_returns_acks(mq: Client) -> None:
    jobs = mq.queue("jobs")
    seen = seen_by(jobs)
    id = jobs.push("x")
    drain(mq)
    record = mq.get(id)
    assert record is not None
    assert (seen, record.state, mq.failures(id)) == (["x"], State.DONE, [])


def test_a_handler_that_raises_kill_discards_the_message_with_the_error(mq: Client) -> None:
    jobs = mq.queue("jobs")

    @jobs.handler
    def work(message: ClaimedMessage) -> None:
        raise Kill(f"nobody wants {message.payload}")

    id = jobs.push("x")
    drain(mq)
    record = mq.get(id)
    assert record is not None
    assert (record.state, record.attempts) == (State.DEAD, 1)
    assert mq.failures(id)[0].error == "nobody wants x"


def test_a_handler_that_raises_puts_the_message_back_with_the_error_kept_and_a_delay(mq: Client) -> None:
    jobs = mq.queue("jobs", backoff={"first": 60, "jitter": 0})

    @jobs.handler
    def work(message: ClaimedMessage) -> None:
        raise ConnectionError("no route")

    id = jobs.push("x")
    drain(mq)
    (failure,) = mq.failures(id)
    record = mq.get(id)
    assert record is not None
    assert record.state == State.SCHEDULED
    assert record.visible_at == failure.ended_at + timedelta(seconds=60)
    assert "no route" in failure.error


def test_what_has_been_consumed_too_often_is_dead_and_not_waiting(mq: Client) -> None:
    jobs = mq.queue("jobs", max_attempts=3, lease=0.05)
    id = jobs.push("x")
    for _ in range(3):
        eventually(jobs.claim)
    eventually(lambda: not jobs.claim() and jobs.stats().dead == 1)
    stats, record = jobs.stats(), mq.get(id)
    assert (stats.ready, stats.scheduled, stats.leased, stats.oldest_age) == (0, 0, 0, None)
    assert record is not None
    assert (record.reason, record.attempts) == (Reason.EXHAUSTED, 3)


def test_without_a_limit_a_message_is_consumed_as_often_as_it_takes(mq: Client) -> None:
    jobs = mq.queue("jobs", max_attempts=None, backoff=AT_ONCE)
    jobs.push("x")

    @jobs.handler
    def work(message: ClaimedMessage) -> None:
        assert not message.last_attempt
        if message.attempt < 8:
            raise ValueError("again")

    with working(mq):
        eventually(lambda: jobs.stats().done == 1)


def test_a_holder_who_was_away_too_long_cannot_ack(mq: Client) -> None:
    jobs = mq.queue("jobs")
    jobs.push("x")
    (late,) = jobs.claim(lease=0.1)
    (present,) = jobs.claim(wait=10)
    with pytest.raises(rowmq.LeaseLost):
        late.ack()
    assert jobs.stats().leased == 1
    present.ack()


# ---- consumer options --------------------------------------------------------------------------------------


def test_no_more_handlers_run_in_parallel_than_asked_for(mq: Client) -> None:
    jobs = mq.queue("jobs")
    jobs.push_many(range(10))
    running: list[int] = []
    most = []

    @jobs.handler
    async def work(message: ClaimedMessage) -> None:
        running.append(message.payload)
        most.append(len(running))
        await asyncio.sleep(0.02)
        running.remove(message.payload)

    drain(mq, concurrency=2)
    assert max(most) == 2


def test_stop_on_empty_ends_when_nothing_is_left_to_do_now(mq: Client) -> None:
    jobs = mq.queue("jobs")
    seen = seen_by(jobs)
    jobs.push_many(range(50))
    jobs.push("later", delay=3600)
    drain(mq)
    assert sorted(seen) == list(range(50))
    assert jobs.stats().scheduled == 1


def test_stop_on_empty_waits_for_what_running_handlers_publish(mq: Client) -> None:
    jobs = mq.queue("jobs")

    @jobs.handler
    def work(message: ClaimedMessage) -> None:
        time.sleep(0.05)
        if message.payload < 4:
            jobs.push(message.payload + 1)

    jobs.push(0)
    drain(mq)
    assert jobs.stats().done == 5


@timed
def test_what_is_older_than_the_history_limit_is_left_alone(mq: Client) -> None:
    jobs = mq.queue("jobs")
    seen = seen_by(jobs)
    old = jobs.push("old")
    time.sleep(0.6)
    jobs.push("new")
    drain(mq, max_age=0.5)
    assert seen == ["new"]
    record = mq.get(old)
    assert record is not None
    assert (record.state, record.attempts) == (State.READY, 0)


KINDS = [{}, {"kind": "a"}, {"kind": "b"}, {"kind": "a", "place": "x"}, {"kind": "b", "place": "x"}]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ((Condition("kind", "=", ("a",)),), [1, 3]),
        ((Condition("kind", "!=", ("a",)),), [0, 2, 4]),
        ((Condition("kind", "!=", ("a",)), Condition("place", "=", ("x",))), [4]),
        ((Condition("kind", "=", ("a",)), Condition("place", "!=", ("x",))), [1]),
    ],
    ids=["equal", "not equal, or missing", "not equal and equal", "equal and not equal, or missing"],
)
def test_metadata_filters_choose_what_a_worker_takes(
    mq: Client, where: tuple[Condition, ...], expected: list[int]
) -> None:
    jobs = mq.queue("jobs")
    seen = seen_by(jobs)
    for number, metadata in enumerate(KINDS):
        jobs.push(number, metadata=metadata)
    drain(mq, where=where)
    assert sorted(seen) == expected
    assert jobs.stats().ready == len(KINDS) - len(expected)


def spoil(url: str, id: UUID) -> None:
    """Make a message's body something that is not JSON, as a careless publisher in plain SQL can."""
    with own_connection(url) as own:
        key = id.bytes if own.engine.name == "sqlite" else id
        own.execute(
            text("UPDATE rowmq_messages SET body = :body WHERE id = :id"), {"body": b"{oh", "id": key}
        )
        own.commit()


def test_an_invalid_message_goes_to_the_callback_and_does_not_block_the_queue(mq: Client, url: str) -> None:
    jobs = mq.queue("jobs")
    seen = seen_by(jobs)
    bad = jobs.push("spoiled", metadata={"from": "elsewhere"})
    jobs.push_many([1, 2])
    spoil(url, bad)
    junk: list[tuple[UUID, bytes, str, str]] = []

    def on_invalid(message: ClaimedMessage, error: Exception) -> None:
        junk.append((message.id, message.body, message.metadata["from"], str(error)))

    drain(mq, concurrency=1, on_invalid=on_invalid)
    assert seen == [1, 2]
    ((id, body, origin, error),) = junk
    assert (id, body, origin) == (bad, b"{oh", "elsewhere")
    assert "not JSON" in error
    record = mq.get(bad)
    assert record is not None
    assert (record.state, record.reason) == (State.DEAD, Reason.INVALID)


def test_an_invalid_message_does_not_block_those_who_claim_by_hand_either(mq: Client, url: str) -> None:
    jobs = mq.queue("jobs")
    spoil(url, jobs.push("spoiled"))
    jobs.push("good")
    bad, good = jobs.claim(2)
    with pytest.raises(rowmq.InvalidMessage):
        bad.payload  # noqa: B018 - looking at it is what raises
    bad.kill("cannot be read")
    assert good.payload == "good"
    good.ack()
    assert (jobs.stats().dead, jobs.stats().done) == (1, 1)


# ---- latency, and names ------------------------------------------------------------------------------------


def test_a_sleeping_consumer_is_woken_long_before_it_would_look_again(mq: Client, url: str) -> None:
    jobs = mq.queue("jobs")
    got = threading.Semaphore(0)
    jobs.handler(lambda _: got.release())
    with working(mq, poll=60), rowmq.connect(url) as elsewhere:
        start = time.monotonic()
        for number in range(5):
            elsewhere.push("jobs", number)
            assert got.acquire(timeout=60)
            time.sleep(0.05)
        assert time.monotonic() - start < 30


def claim_work(mq: Client, jobs: QueueHandle) -> int:
    """What a claim and its ack cost, counted by the database; what disturbs a count only adds to it."""
    totals = []
    for _ in range(5):
        jobs.push("due")
        with counting(mq.store) as count:  # type: ignore[arg-type]
            (message,) = jobs.claim()
            message.ack()
        totals.append(count.total)
    return min(totals)


def test_a_name_of_more_than_63_characters_works_and_its_claims_stay_cheap(mq: Client) -> None:
    assert len(LONG) > 200
    busy, calm = mq.queue(LONG), mq.queue(LONG[:-1] + "!")
    busy.push_many(range(3000), delay=3600)
    busy.push_many(range(500))
    for message in busy.claim(500):
        message.release(after=3600)
    seldom = claim_work(mq, calm)
    assert claim_work(mq, busy) <= 1.25 * seldom + 20
    assert [queue.name for queue in mq.queues()] == sorted([LONG, LONG[:-1] + "!"])
    assert (busy.stats().scheduled, calm.stats().done) == (3500, 5)


# ---- numbers, spans, lines ---------------------------------------------------------------------------------


def mixed(jobs: QueueHandle) -> None:
    """Three messages that end as ack, nack and discard."""

    @jobs.handler
    def work(message: ClaimedMessage) -> None:
        if message.payload == "nack":
            raise rowmq.Retry("later", after=3600)
        if message.payload == "discard":
            raise Kill("never")

    jobs.push_many(["ack", "nack", "discard", "ack"])


def test_counters_tell_how_messages_ended_in_each_queue(mq: Client) -> None:
    metrics = Metrics(CollectorRegistry(), store=mq.store)
    mq.use(metrics)
    jobs = mq.queue("jobs")
    mixed(jobs)
    drain(mq)
    ended = {
        outcome: metrics.registry.get_sample_value(
            "rowmq_settled_total", {"queue": "jobs", "outcome": outcome}
        )
        for outcome in ("ack", "retry", "bury")
    }
    assert ended == {"ack": 2, "retry": 1, "bury": 1}


def test_waiting_and_being_processed_are_shown_for_empty_queues_too(mq: Client) -> None:
    jobs, _ = mq.queue("jobs"), mq.queue("empty")
    jobs.push_many(range(3))
    jobs.claim()
    registry = Metrics(CollectorRegistry(), store=mq.store).registry

    def depth(queue: str, state: str) -> float | None:
        return registry.get_sample_value("rowmq_depth", {"queue": queue, "state": state})

    assert (depth("jobs", "ready"), depth("jobs", "leased")) == (2, 1)
    assert (depth("empty", "ready"), depth("empty", "leased")) == (0, 0)


def test_each_message_has_a_span_in_the_trace_that_its_metadata_names(mq: Client) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    jobs = mq.queue("jobs")
    seen_by(jobs)
    traces = [f"{n:032x}" for n in (1, 2)]
    ids = [jobs.push("x", metadata={"traceparent": f"00-{each}-{7:016x}-01"}) for each in traces]
    drain(mq, middleware=[Tracing(provider)])
    spans = exporter.get_finished_spans()
    found = {(span.attributes or {})["messaging.message.id"]: span for span in spans}
    assert set(found) == {str(id) for id in ids}
    for id, trace in zip(ids, traces, strict=True):
        span = found[str(id)]
        assert f"{span.context.trace_id:032x}" == trace
        assert span.parent is not None
        assert span.parent.span_id == 7


def test_what_fails_is_logged_with_its_queue_and_id_and_without_its_payload(
    mq: Client, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = mq.queue("jobs")

    @jobs.handler
    def work(message: ClaimedMessage) -> None:
        raise Kill("broken")

    id = jobs.push("a secret")
    with caplog.at_level(logging.DEBUG, "rowmq"):
        drain(mq)
    (line,) = [each for each in caplog.messages if each.startswith("message.failed")]
    assert "queue=jobs" in line
    assert str(id) in line
    assert "secret" not in caplog.text


# ---- the schema, and the table as the interface ------------------------------------------------------------


def test_start_up_refuses_a_database_without_the_tables(tmp_path: Any) -> None:
    with pytest.raises(rowmq.SchemaOutdated):
        rowmq.connect(f"sqlite:///{tmp_path}/empty.db", migrate=False)


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_the_schema_is_printed_to_make_and_to_drop(dialect: str) -> None:
    made, dropped = rowmq.schema(dialect), rowmq.schema(dialect, drop=True)
    assert "CREATE TABLE rowmq_messages" in made
    assert "rowmq_messages" in dropped
    assert "DROP TABLE" in dropped


def test_a_publisher_in_plain_sql_reaches_a_worker_and_reads_what_became_of_it(mq: Client, url: str) -> None:
    jobs = mq.queue("jobs")
    seen = seen_by(jobs)
    raw: Any = mq.store
    with own_connection(url) as own:
        raw.database.dialect.script(
            own.connection.cursor(), view(make_url(url).drivername, "seed_jobs", "jobs")
        )
        own.commit()
        own.execute(text('INSERT INTO seed_jobs (payload, metadata) VALUES (\'{"n": 1}\', \'{"k": "v"}\')'))
        own.commit()
        drain(mq)
        row = own.execute(text("SELECT * FROM seed_jobs")).mappings().one()
        assert (row["consumed_count"], row["error_detail"]) == (1, None)
        assert row["processed_at"] is not None
        own.execute(text("DROP VIEW seed_jobs"))
        own.commit()
    assert seen == [{"n": 1}]
