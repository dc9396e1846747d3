from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from rowmq.core.delivery import Settlement, Want
from rowmq.core.errors import QueueNotFound
from rowmq.core.message import Batch, Message
from rowmq.core.outcome import ACK
from rowmq.core.where import where
from rowmq.stores import open_store
from rowmq.stores.fresh import new_id
from tests.runtime.test_gather import Recorded, batch, gathered, left
from tests.timing import timed

if TYPE_CHECKING:
    from pathlib import Path

    from rowmq.core.delivery import Delivery
    from rowmq.runtime.gather import Gather

LONG = timedelta(seconds=30)


async def waiting(
    gather: Gather, count: int = 1, want: Want | None = None
) -> list[asyncio.Task[list[Delivery]]]:
    """Long polls, begun in order, each after its first look found nothing."""
    polls = []
    for _ in range(count):
        polls.append(asyncio.create_task(gather.claim("emails", want or Want(), wait=LONG)))
        await asyncio.sleep(0.01)
    return polls


@timed
def test_a_long_poll_is_answered_when_something_is_pushed() -> None:
    async def main() -> None:
        async with gathered(Recorded()) as gather:
            (poll,) = await waiting(gather)
            started = time.monotonic()
            pushed = await gather.push(batch())
            (found,) = await poll
            assert found.id == pushed.ids[0]
            assert time.monotonic() - started < 1

    asyncio.run(main())


def test_a_long_poll_with_nothing_to_give_ends_when_its_time_is_over() -> None:
    async def main() -> None:
        async with gathered(Recorded()) as gather:
            started = time.monotonic()
            assert await gather.claim("emails", Want(), wait=timedelta(seconds=0.2)) == []
            assert 0.15 < time.monotonic() - started < LONG.total_seconds()

    asyncio.run(main())


def test_who_waits_longest_is_served_first() -> None:
    async def main() -> None:
        async with gathered(Recorded()) as gather:
            polls = await waiting(gather, 3)
            await gather.push(batch())
            await asyncio.wait(polls, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(0.05)
            assert [poll.done() for poll in polls] == [True, False, False]
            gather.rest()

    asyncio.run(main())


def test_a_batch_is_spread_over_those_who_wait() -> None:
    async def main() -> None:
        async with gathered(Recorded()) as gather:
            polls = await waiting(gather, 5)
            await gather.push(Batch("emails", [Message(id=new_id(), body=b"1") for _ in range(5)]))
            found = await asyncio.gather(*polls)
            assert [len(each) for each in found] == [1] * 5

    asyncio.run(main())


def test_a_thousand_who_wait_cost_one_claim_when_one_message_comes() -> None:
    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            polls = [asyncio.create_task(gather.claim("emails", Want(), wait=LONG)) for _ in range(1000)]
            while _wanted(store) < 1000:  # noqa: ASYNC110 - a test looks on
                await asyncio.sleep(0.01)
            store.calls.clear()
            await gather.push(batch())
            await asyncio.wait(polls, return_when=asyncio.FIRST_COMPLETED)
            wants = _wanted(store)
            assert sum(poll.done() for poll in polls) == 1
            assert wants <= 10
            gather.rest()
            await asyncio.gather(*polls)

    asyncio.run(main())


def _wanted(store: Recorded) -> int:
    """How many claims the store was asked for."""
    return sum(count for what, count in store.calls if what == "claim")


def test_one_who_left_is_not_claimed_for() -> None:
    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            goes, stays = await waiting(gather, 2)
            goes.cancel()
            await asyncio.sleep(0)
            await gather.push(batch())
            (found,) = await stays
            assert found.attempt == 1
            assert found.receives == 1

    asyncio.run(main())


def test_one_who_leaves_during_the_claim_gives_its_message_to_the_next() -> None:
    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            (goes,) = await waiting(gather)
            store.go_on.clear()
            store.entered.clear()
            pushing = asyncio.create_task(gather.push(batch()))
            await asyncio.to_thread(store.entered.wait, 60)
            store.entered.clear()
            store.go_on.set()
            await pushing
            store.go_on.clear()
            await asyncio.to_thread(store.entered.wait, 60)
            goes.cancel()
            await asyncio.sleep(0)
            store.go_on.set()
            (found,) = await gather.claim("emails", Want(), wait=LONG)
            assert found.attempt == 1

    asyncio.run(main())


def test_choosy_waiters_do_not_keep_others_from_their_messages() -> None:
    async def main() -> None:
        async with gathered(Recorded()) as gather:
            (choosy,) = await waiting(gather, want=Want(where=where({"lang": "de"})))
            (plain,) = await waiting(gather)
            await gather.push(batch())
            assert len(await plain) == 1
            assert not choosy.done()
            german = Message(id=new_id(), body=b"1", metadata={"lang": "de"})
            await gather.push(Batch("emails", [german]))
            assert [each.id for each in await choosy] == [german.id]

    asyncio.run(main())


def test_a_message_that_becomes_due_is_found_without_any_push() -> None:
    async def main() -> None:
        store = Recorded()
        soon = Message(id=new_id(), body=b"1", delay=timedelta(seconds=0.5))
        store.push([Batch("emails", [soon])])
        async with gathered(store) as gather:
            (found,) = await gather.claim("emails", Want(), wait=LONG)
            assert found.id == soon.id

    asyncio.run(main())


@timed
def test_another_process_s_push_is_heard_through_the_store(tmp_path: Path) -> None:
    async def main() -> None:
        url = f"sqlite:///{tmp_path / 'queue.db'}"
        store, other = open_store(url), open_store(url)
        store.queues.put("emails")
        async with gathered(store) as gather:  # type: ignore[arg-type]
            (poll,) = await waiting(gather)
            await asyncio.sleep(0.3)
            started = time.monotonic()
            await asyncio.to_thread(other.push, [batch()])
            assert len(await poll) == 1
            assert time.monotonic() - started < 0.8  # sooner than the next look that comes by itself
        for each in (store, other):
            each.close()

    asyncio.run(main())


def test_resting_answers_everybody_and_lets_nobody_wait_any_more() -> None:
    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            polls = await waiting(gather, 3)
            gather.rest()
            assert await asyncio.gather(*polls) == [[], [], []]
            started = time.monotonic()
            assert await gather.claim("emails", Want(), wait=LONG) == []
            assert time.monotonic() - started < LONG.total_seconds() / 2
            await gather.push(batch())
            assert len(await gather.claim("emails", Want(), wait=LONG)) == 1

    asyncio.run(main())


def test_waiting_for_a_queue_that_is_not_there_is_refused_at_once() -> None:
    async def main() -> None:
        async with gathered(Recorded()) as gather:
            with pytest.raises(QueueNotFound):
                await gather.claim("nowhere", Want(), wait=LONG)

    asyncio.run(main())


def test_who_only_wants_to_know_hears_of_a_push_and_leaves_the_message_alone() -> None:
    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            told = asyncio.create_task(gather.wait(["letters", "emails", "emails"], LONG))
            await asyncio.sleep(0.01)
            await gather.push(batch())
            assert await told
            assert left(store) == 1
            # A hint may still be under way: whoever waits may be woken for nothing, but not again and again.
            moment = timedelta(seconds=0.05)
            assert not all([await gather.wait(["letters"], moment) for _ in range(20)])

    asyncio.run(main())


def test_nothing_is_kept_of_those_who_have_gone() -> None:
    async def main() -> None:
        async with gathered(Recorded()) as gather:
            polls = await waiting(gather, 3)
            for poll in polls:
                poll.cancel()
            await asyncio.gather(*polls, return_exceptions=True)
            await asyncio.sleep(0.05)
            assert gather._polls._lines == {}

    asyncio.run(main())


def test_many_who_poll_and_many_who_push_lose_nothing() -> None:
    async def consume(gather: Gather, done: list[Delivery]) -> None:
        while len(done) < 500:
            found = await gather.claim("emails", Want(limit=3), wait=timedelta(seconds=0.5))
            await gather.settle([Settlement(each.receipt, ACK) for each in found])
            done += found

    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            done: list[Delivery] = []
            consumers = [asyncio.create_task(consume(gather, done)) for _ in range(20)]
            for _ in range(100):
                await asyncio.gather(*(gather.push(batch()) for _ in range(5)))
            await asyncio.gather(*consumers)
        assert len({each.seq for each in done}) == len(done) == 500

    asyncio.run(main())
