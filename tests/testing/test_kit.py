"""What tests of users' code stand on: a clock, draining, inline pushes and assertions."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

import rowmq
from rowmq import testing
from rowmq.core.outcome import Ack, Bury, Release
from rowmq.core.outcome import Retry as Retried

pytest_plugins = ["pytester"]


@pytest.fixture
def clock() -> testing.Clock:
    return testing.Clock()


@pytest.fixture
def mq(clock: testing.Clock) -> Iterator[rowmq.Client]:
    with testing.connect(clock) as client:
        yield client


def test_a_clock_stands_still_until_it_is_moved(clock: testing.Clock) -> None:
    begin = clock.now()
    assert begin == datetime(2026, 1, 1, tzinfo=UTC)
    assert clock.move(1.5) == begin + timedelta(seconds=1.5)
    assert clock.move(timedelta(days=1)) == clock.now() == begin + timedelta(days=1, seconds=1.5)


def test_a_clock_goes_neither_back_nor_without_a_time_zone(clock: testing.Clock) -> None:
    with pytest.raises(rowmq.InvalidSetting, match="moves forward"):
        clock.move(-1)
    with pytest.raises(rowmq.InvalidSetting, match="needs a time zone"):
        testing.Clock(datetime(2026, 1, 1))  # noqa: DTZ001 - that is what is wrong with it


def test_a_clock_can_rule_a_client_that_is_there_already(clock: testing.Clock, tmp_path: Path) -> None:
    with rowmq.connect("memory://") as mq:
        clock.rule(mq)
        assert mq.store.now() == clock.now()
    with (
        rowmq.connect(f"sqlite:///{tmp_path}/jobs.db") as sqlite,
        pytest.raises(rowmq.InvalidSetting, match="a clock of its own"),
    ):
        clock.rule(sqlite)


def test_a_delayed_message_is_due_when_the_clock_says_so(mq: rowmq.Client, clock: testing.Clock) -> None:
    emails = mq.queue("emails")
    emails.push("later", delay=60)
    clock.move(59)
    assert emails.claim() == []
    clock.move(1)
    assert [message.payload for message in emails.claim()] == ["later"]


def test_drain_runs_what_is_due_in_order_and_tells_what_ran(mq: rowmq.Client) -> None:
    emails, seen = mq.queue("emails"), []
    emails.handler(lambda message: seen.append(message.payload))
    emails.push_many(["second", "third"])
    emails.push("first", priority=5)
    emails.push("later", delay=60)
    ran = testing.drain(emails)
    assert seen == ["first", "second", "third"] == [each.message.payload for each in ran]
    assert {each.outcome for each in ran} == {Ack()}
    assert (emails.stats().done, emails.stats().scheduled) == (3, 1)


def test_drain_runs_async_handlers_too(mq: rowmq.Client) -> None:
    emails, seen = mq.queue("emails"), []

    @emails.handler
    async def send(message: rowmq.ClaimedMessage) -> None:
        await asyncio.sleep(0)
        seen.append(message.payload)

    emails.push_many([1, 2])
    assert len(testing.drain(emails)) == 2
    assert seen == [1, 2]


def test_drain_runs_async_handlers_from_within_a_running_loop(mq: rowmq.Client) -> None:
    @mq.task(results=True)
    async def add(a: int, b: int) -> int:
        await asyncio.sleep(0)
        return a + b

    async def story() -> object:
        pushed = add.push(2, 3)
        testing.drain(mq)
        return pushed.result(timeout=1)

    assert asyncio.run(story()) == 5


def test_drain_runs_in_the_calling_thread(mq: rowmq.Client) -> None:
    threads = []
    mq.handler("emails")(lambda _: threads.append(threading.current_thread()))
    mq.queue("emails").push(1)
    testing.drain(mq)
    assert threads == [threading.current_thread()]


def test_a_failure_is_retried_once_the_clock_is_moved_and_dies_at_the_last_attempt(
    mq: rowmq.Client, clock: testing.Clock
) -> None:
    emails = mq.queue("emails", max_attempts=2, backoff={"first": 10, "jitter": 0})

    @emails.handler
    def send(message: rowmq.ClaimedMessage) -> None:
        raise OSError(f"attempt {message.attempt}")

    id = emails.push("hello")
    (ran,) = testing.drain(emails)
    assert isinstance(ran.outcome, Retried)
    assert ran.outcome.delay == timedelta(seconds=10)
    assert str(ran.error) == "attempt 1"
    assert testing.drain(emails) == []
    clock.move(10)
    (ran,) = testing.drain(emails)
    assert isinstance(ran.outcome, Bury)
    record = mq.get(id)
    assert record is not None
    assert (record.state, record.reason) == ("dead", "exhausted")
    assert [failure.attempt for failure in mq.failures(id)] == [1, 2]


def test_kill_retry_and_snooze_mean_what_they_mean_to_a_worker(
    mq: rowmq.Client, clock: testing.Clock
) -> None:
    answers: list[Exception | rowmq.Snooze] = [
        rowmq.Snooze(after=60),
        rowmq.Retry(after=5),
        rowmq.Kill("no use"),
    ]

    @mq.handler("emails")
    def send(_: rowmq.ClaimedMessage) -> rowmq.Snooze:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    mq.queue("emails").push("hello")
    outcomes = []
    for seconds in (0, 60, 5):
        clock.move(seconds)
        outcomes += [(each.message.attempt, type(each.outcome)) for each in testing.drain(mq, reraise=True)]
    assert outcomes == [(1, Release), (1, Retried), (2, Bury)]


def test_what_a_handler_pushes_is_drained_too(mq: rowmq.Client) -> None:
    first, second, seen = mq.queue("first"), mq.queue("second"), []

    @first.handler
    def forward(message: rowmq.ClaimedMessage) -> None:
        seen.append(message.payload)
        second.push(message.payload)

    second.handler(lambda message: first.push(message.payload - 1) if message.payload else None)
    first.push(2)
    testing.drain(mq)
    assert seen == [2, 1, 0]


def test_a_handler_that_settles_its_message_itself_is_left_alone(mq: rowmq.Client) -> None:
    emails = mq.queue("emails")
    emails.handler(lambda message: message.kill("settled here"))
    id = emails.push(1)
    testing.drain(emails)
    record = mq.get(id)
    assert record is not None
    assert record.reason == "killed"
    assert mq.failures(id)[0].error == "settled here"


def test_drain_raises_what_a_handler_raised_if_it_is_asked_to_and_settles_it_all_the_same(
    mq: rowmq.Client,
) -> None:
    emails = mq.queue("emails")
    emails.handler(lambda message: 1 / message.payload)
    emails.push(0)
    with pytest.raises(ZeroDivisionError):
        testing.drain(emails, reraise=True)
    assert emails.stats().scheduled == 1


def test_what_is_meant_for_the_test_runner_is_always_raised(mq: rowmq.Client) -> None:
    emails = mq.queue("emails")
    emails.handler(lambda _: pytest.fail("seen in the test"))
    emails.push(0)
    with pytest.raises(pytest.fail.Exception, match="seen in the test"):
        testing.drain(emails)


def test_a_message_that_never_ends_is_told_instead_of_running_for_ever(mq: rowmq.Client) -> None:
    emails = mq.queue("emails")
    emails.handler(lambda _: rowmq.Snooze(after=0))
    emails.push(1)
    with pytest.raises(rowmq.RowMQError, match="has run 1000 times and is due again"):
        testing.drain(emails)


def test_a_message_that_names_no_task_here_is_dead(mq: rowmq.Client) -> None:
    mq.handler("emails")(lambda _: None)
    id = mq.queue("emails").push(1, metadata={"rowmq.task": "os.system"})
    (ran,) = testing.drain(mq)
    record = mq.get(id)
    assert record is not None
    assert (record.state, record.reason) == ("dead", "invalid")
    assert "no task is called 'os.system'" in str(ran.error)


def test_drain_refuses_a_queue_that_nothing_handles(mq: rowmq.Client) -> None:
    with pytest.raises(rowmq.InvalidSetting, match="queue 'emails' has no handler and no task here"):
        testing.drain(mq.queue("emails"))


def test_draining_a_client_fires_its_schedules(mq: rowmq.Client, clock: testing.Clock) -> None:
    seen: list[str] = []
    mq.queue("reports").handler(lambda message: seen.append(message.payload))
    mq.schedule("hourly", queue="reports", payload="report", cron="30 * * * *")
    assert testing.drain(mq) == []
    clock.move(1800)
    testing.drain(mq)
    assert seen == ["report"]


def test_middleware_sees_a_drain_as_it_sees_a_worker(mq: rowmq.Client) -> None:
    heard: list[str] = []

    class Listening(rowmq.Middleware):
        def on_claim(self, *_: object) -> None:
            heard.append("claimed")

        def before(self, _: object) -> None:
            heard.append("before")

        def after(self, *_: object) -> None:
            heard.append("after")

        def on_settle(self, *_: object) -> None:
            heard.append("settled")

    mq.use(Listening())
    mq.handler("emails")(lambda _: heard.append("ran"))
    mq.queue("emails").push(1)
    testing.drain(mq)
    assert heard == ["claimed", "before", "ran", "after", "settled"]


def test_an_inline_push_has_been_handled_when_it_returns(mq: rowmq.Client) -> None:
    @mq.task(results=True)
    def add(a: int, b: int) -> int:
        return a + b

    with testing.inline(mq):
        assert add.push(2, b=3).result(timeout=0) == 5
    assert add.push(1, 1).state == rowmq.State.READY


def test_inline_pushes_nest(mq: rowmq.Client) -> None:
    seen: list[int] = []

    @mq.task
    async def count_down(left: int) -> None:
        if left:
            count_down.push(left - 1)
        seen.append(left)

    with testing.inline(mq):
        count_down.push(2)
    assert seen == [0, 1, 2]


def test_an_inline_publish_is_handled_in_every_queue_that_has_a_handler(mq: rowmq.Client) -> None:
    orders, seen = mq.topic("orders"), []
    orders.subscribe("billing").handler(lambda message: seen.append(message.payload))
    stock = orders.subscribe("stock")
    with testing.inline(mq):
        assert orders.publish({"order": 7}) == 2
    assert seen == [{"order": 7}]
    assert stock.stats().ready == 1


def test_an_inline_failure_is_a_retry_or_is_raised_if_asked_for(mq: rowmq.Client) -> None:
    emails = mq.queue("emails")
    emails.handler(lambda message: 1 / message.payload)
    with testing.inline(mq):
        emails.push(0)
    assert emails.stats().scheduled == 1
    with testing.inline(mq, reraise=True), pytest.raises(ZeroDivisionError):
        emails.push(0)
    assert emails.stats().scheduled == 2


def test_middleware_added_while_pushes_are_inline_stays(mq: rowmq.Client) -> None:
    emails = mq.queue("emails")
    with testing.inline(mq):
        mq.use(rowmq.Inject(lambda: {"host": "web-1"}))
        emails.push("inside")
    emails.push("outside")
    testing.assert_pushed(emails, metadata={"host": "web-1"}, count=2)


def test_assert_pushed_finds_by_payload_metadata_and_count(mq: rowmq.Client) -> None:
    emails = mq.queue("emails")
    id = emails.push({"to": "ada"}, metadata={"v": "1", "lang": "en"})
    emails.push({"to": "bob"})
    (record,) = testing.assert_pushed(mq, {"to": "ada"}, metadata={"v": "1"}, count=1)
    assert record.id == id
    assert len(testing.assert_pushed(emails)) == 2
    testing.assert_pushed(emails, count=2)
    testing.assert_nothing_pushed(emails, {"to": "eve"})
    testing.assert_nothing_pushed(mq.queue("other"))


def test_assert_pushed_finds_a_task_however_its_arguments_were_passed(mq: rowmq.Client) -> None:
    @mq.task(name="welcome")
    def welcome(user: int, lang: str = "en") -> None: ...

    welcome.push(7)
    for task in (welcome, "welcome"):
        testing.assert_pushed(mq, task=task, args=[7], count=1)
    testing.assert_pushed(mq, task=welcome, kwargs={"user": 7, "lang": "en"}, count=1)
    with pytest.raises(AssertionError, match=r"no message with task 'welcome' and arguments \(8\)"):
        testing.assert_pushed(mq, task=welcome, args=[8])
    testing.assert_nothing_pushed(mq, task="goodbye")


def test_a_failed_assertion_lists_what_was_pushed_instead(mq: rowmq.Client) -> None:
    emails = mq.queue("emails")
    emails.handler(lambda _: None)
    emails.push({"to": "ada"}, metadata={"v": "1"})
    testing.drain(emails)
    emails.push_many(range(25))
    with pytest.raises(AssertionError) as failure:
        testing.assert_pushed(mq, {"to": "bob"}, metadata={"v": "2"})
    lines = str(failure.value).splitlines()
    wanted = "payload {'to': 'bob'} and metadata {'v': '2'}"
    assert lines[:3] == [
        f"no message with {wanted} was pushed to any queue, but 26 others:",
        "  emails: {'to': 'ada'} metadata={'v': '1'} (done)",
        "  emails: 0 (ready)",
    ]
    assert lines[-1] == "  and 6 more"


def test_a_wrong_count_and_an_unwanted_message_are_told(mq: rowmq.Client) -> None:
    emails = mq.queue("emails")
    with pytest.raises(AssertionError, match="pushed to queue 'emails', and no other either"):
        testing.assert_pushed(emails)
    emails.push("one")
    with pytest.raises(
        AssertionError, match="1 messages were pushed to queue 'emails', not 2; but 1 message:"
    ):
        testing.assert_pushed(emails, count=2)
    with pytest.raises(AssertionError, match="nothing should have been pushed to any queue, but 1 message:"):
        testing.assert_nothing_pushed(mq)


def test_the_kit_works_on_a_database_too(tmp_path: Path) -> None:
    with rowmq.connect(f"sqlite:///{tmp_path}/jobs.db") as mq:
        mq.handler("emails")(lambda _: None)
        id = uuid4()
        with testing.inline(mq):
            mq.queue("emails").push("hello", id=id)
        (record,) = testing.assert_pushed(mq, "hello")
        assert (record.id, record.state) == (id, "done")


def test_the_kit_needs_no_pytest() -> None:
    code = "import sys, rowmq.testing as kit; kit.drain(kit.connect()); print('pytest' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.stdout == "False\n", ran.stderr


def test_pytest_has_the_fixtures_by_itself(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from rowmq import testing

        def test_signup(rowmq_client, rowmq_clock):
            rowmq_client.queue("emails").push("hello", delay=60)
            rowmq_clock.move(60)
            assert rowmq_client.queue("emails").stats().ready == 1

        def test_each_test_has_its_own(rowmq_client):
            assert rowmq_client.queues() == []
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-W", "error")
    result.assert_outcomes(passed=2)


def test_a_session_that_uses_no_fixture_loads_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_is_loaded():
            assert "pytest_rowmq" in sys.modules
            assert not {"rowmq", "sqlalchemy"} & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_assertions_of_the_conformance_suite_and_of_tests_explain_themselves(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        import pytest
        from rowmq.testing.build import message, push
        from rowmq.stores.memory import MemoryStore

        def test_of_the_suite():
            push(MemoryStore(), message("lost"))

        def test_of_a_user(rowmq_client):
            assert rowmq_client.queues() == ["emails"]
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["*where False = isinstance(QueueNotFound(*", "*assert [[][]] == [[]'emails']*"]
    )
