from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from rowmq.core.delivery import Settlement, Want
from rowmq.core.errors import OutcomeUnknown, Overloaded, QueueNotFound, StoreUnavailable
from rowmq.core.message import Batch, Message, Pushed
from rowmq.core.outcome import ACK, Settled, State
from rowmq.runtime import gather as gathering
from rowmq.runtime.gather import Gather
from rowmq.stores.fresh import new_id
from rowmq.stores.memory import MemoryStore

if TYPE_CHECKING:
    from rowmq.core.delivery import Delivery
    from rowmq.core.errors import RowMQError


class Recorded(MemoryStore):
    """A store that writes down what it is asked, and can be held up or made to fail."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, int]] = []
        self.go_on = threading.Event()
        self.go_on.set()
        self.entered = threading.Event()
        self.failing: list[Exception] = []
        self.poison: bytes | None = None
        self.queues.put("emails")

    def push(self, batches: Sequence[Batch], **rest: Any) -> list[Pushed | RowMQError]:
        self._note("push", len(batches))
        if any(message.body == self.poison for batch in batches for message in batch.messages):
            raise ValueError("poison")
        return super().push(batches, **rest)

    def claim(self, queue: str, wants: Sequence[Want], **rest: Any) -> list[list[Delivery]]:
        self._note("claim", len(wants))
        return super().claim(queue, wants, **rest)

    def settle(self, settlements: Sequence[Settlement], **rest: Any) -> list[Settled]:
        self._note("settle", len(settlements))
        return super().settle(settlements, **rest)

    def _note(self, what: str, count: int) -> None:
        self.calls.append((what, count))
        self.entered.set()
        assert self.go_on.wait(60)
        if self.failing:
            raise self.failing.pop()


@asynccontextmanager
async def gathered(store: MemoryStore) -> AsyncIterator[Gather]:
    gather = Gather(store)
    gather.start()
    try:
        yield gather
    finally:
        await gather.close()


def batch(body: bytes = b"1", queue: str = "emails") -> Batch:
    return Batch(queue, [Message(id=new_id(), body=body)])


async def held_up(gather: Gather, store: Recorded) -> asyncio.Task[Any]:
    """Start a push that stays inside the store until ``go_on`` is set."""
    store.go_on.clear()
    store.entered.clear()
    first = asyncio.create_task(gather.push(batch()))
    await asyncio.to_thread(store.entered.wait, 60)
    store.calls.clear()
    return first


def left(store: MemoryStore, queue: str = "emails") -> int:
    return store.queues.stats(queue).ready


def test_pushes_that_come_together_share_one_call_and_each_gets_its_own_id() -> None:
    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            batches = [batch() for _ in range(50)]
            pushed = await asyncio.gather(*map(gather.push, batches))
        assert [each.ids[0] for each in pushed] == [each.messages[0].id for each in batches]
        assert len({each.seqs[0] for each in pushed}) == 50
        assert store.calls == [("push", 50)]

    asyncio.run(main())


def test_what_comes_while_the_store_writes_goes_together_next() -> None:
    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            first = await held_up(gather, store)
            others = [asyncio.create_task(gather.push(batch())) for _ in range(20)]
            await asyncio.sleep(0)
            store.go_on.set()
            await asyncio.gather(first, *others)
        assert store.calls == [("push", 20)]

    asyncio.run(main())


def test_a_refused_batch_is_its_sender_s_error_alone() -> None:
    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            answers = await asyncio.gather(
                gather.push(batch()),
                gather.push(batch(queue="nowhere")),
                gather.push(batch()),
                return_exceptions=True,
            )
        assert [type(answer) for answer in answers] == [Pushed, QueueNotFound, Pushed]
        assert left(store) == 2

    asyncio.run(main())


def test_a_call_that_fails_is_made_again_for_each_caller_alone() -> None:
    async def main() -> None:
        store = Recorded()
        store.poison = b'"poison"'
        async with gathered(store) as gather:
            bodies = [b"1", b'"poison"', b"3"]
            answers = await asyncio.gather(
                *(gather.push(batch(body)) for body in bodies), return_exceptions=True
            )
        assert [type(answer) for answer in answers] == [Pushed, ValueError, Pushed]
        assert store.calls == [("push", 3), ("push", 1), ("push", 1), ("push", 1)]
        assert left(store) == 2

    asyncio.run(main())


@pytest.mark.parametrize("error", [StoreUnavailable("down"), OutcomeUnknown("lost")])
def test_a_store_that_is_away_or_unsure_is_everybody_s_answer_and_is_not_asked_again(
    error: Exception,
) -> None:
    async def main() -> None:
        store = Recorded()
        store.failing = [error]
        async with gathered(store) as gather:
            answers = await asyncio.gather(*(gather.push(batch()) for _ in range(3)), return_exceptions=True)
        assert answers == [error] * 3
        assert store.calls == [("push", 3)]

    asyncio.run(main())


def test_a_caller_that_goes_before_its_turn_takes_no_part() -> None:
    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            first = await held_up(gather, store)
            stays, goes = asyncio.create_task(gather.push(batch())), asyncio.create_task(gather.push(batch()))
            await asyncio.sleep(0)
            goes.cancel()
            await asyncio.sleep(0)
            store.go_on.set()
            await asyncio.gather(first, stays)
        assert goes.cancelled()
        assert left(store) == 2

    asyncio.run(main())


def test_what_was_claimed_for_a_caller_that_has_gone_comes_back_with_its_attempt() -> None:
    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            await gather.push(batch())
            store.go_on.clear()
            store.entered.clear()
            goes = asyncio.create_task(gather.claim("emails", Want()))
            await asyncio.to_thread(store.entered.wait, 60)
            goes.cancel()
            await asyncio.sleep(0)
            store.go_on.set()
            (found,) = await gather.claim("emails", Want(), wait=timedelta(seconds=10))
        assert found.attempt == 1

    asyncio.run(main())


def test_settlements_go_before_claims_and_claims_before_pushes() -> None:
    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            await gather.push(batch())
            (held,) = await gather.claim("emails", Want())
            first = await held_up(gather, store)
            tasks = [
                asyncio.create_task(gather.push(batch())),
                asyncio.create_task(gather.claim("emails", Want())),
                asyncio.create_task(gather.settle([Settlement(held.receipt, ACK)])),
            ]
            await asyncio.sleep(0)
            store.go_on.set()
            await asyncio.gather(first, *tasks)
        assert [what for what, _ in store.calls] == ["settle", "claim", "push"]

    asyncio.run(main())


def test_settlements_of_many_callers_are_answered_each() -> None:
    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            await asyncio.gather(*(gather.push(batch()) for _ in range(3)))
            one, two, three = await gather.claim("emails", Want(limit=3))
            await gather.settle([Settlement(one.receipt, ACK)])
            store.calls.clear()
            answers = await asyncio.gather(
                gather.settle([Settlement(one.receipt, ACK), Settlement(two.receipt, ACK)]),
                gather.settle([Settlement(three.receipt._replace(token=b"0" * 16), ACK)]),
            )
        assert [*answers] == [[Settled.REPEATED, Settled.SETTLED], [Settled.LOST]]
        assert store.calls == [("settle", 3)]

    asyncio.run(main())


def test_extensions_by_different_spans_each_end_at_their_own_time() -> None:
    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            await asyncio.gather(*(gather.push(batch()) for _ in range(2)))
            one, two = await gather.claim("emails", Want(limit=2))
            ((short,), (long,)) = await asyncio.gather(
                gather.extend([one.receipt], timedelta(seconds=60)),
                gather.extend([two.receipt], timedelta(seconds=600)),
            )
        assert short is not None
        assert long is not None
        assert timedelta(seconds=530) < long - short < timedelta(seconds=550)

    asyncio.run(main())


def test_a_claim_of_a_queue_that_is_not_there_hurts_no_other() -> None:
    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            await gather.push(batch())
            found, error = await asyncio.gather(
                gather.claim("emails", Want()), gather.claim("nowhere", Want()), return_exceptions=True
            )
        assert isinstance(error, QueueNotFound)
        assert isinstance(found, list)
        assert len(found) == 1

    asyncio.run(main())


def test_too_many_callers_are_turned_away_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "CALLERS", 3)

    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            first = await held_up(gather, store)
            waiting = [asyncio.create_task(gather.push(batch())) for _ in range(3)]
            await asyncio.sleep(0)
            with pytest.raises(Overloaded, match="3 callers"):
                await gather.push(batch())
            store.go_on.set()
            await asyncio.gather(first, *waiting)
            await gather.push(batch())
        assert left(store) == 5

    asyncio.run(main())


def test_too_many_bytes_are_turned_away_until_some_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "ROOM", 1000)

    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            first = await held_up(gather, store)
            waiting = asyncio.create_task(gather.push(batch(b"1" * 900)))
            await asyncio.sleep(0)
            with pytest.raises(Overloaded, match="1000 bytes"):
                await gather.push(batch(b"1" * 101))
            store.go_on.set()
            await asyncio.gather(first, waiting)
            await gather.push(batch(b"1" * 101))
        assert left(store) == 3

    asyncio.run(main())


def test_heavy_pushes_are_not_put_into_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "HEAVIEST", 1000)

    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            await asyncio.gather(*(gather.push(batch(b"1" * 600)) for _ in range(3)))
        assert store.calls == [("push", 1)] * 3

    asyncio.run(main())


def test_closing_does_what_was_asked_for_and_takes_no_more() -> None:
    async def main() -> None:
        store = Recorded()
        gather = Gather(store)
        gather.start()
        asked = [asyncio.create_task(gather.push(batch())) for _ in range(5)]
        await asyncio.sleep(0)
        await gather.close()
        await asyncio.gather(*asked)
        with pytest.raises(StoreUnavailable, match="stopping"):
            await gather.push(batch())
        assert left(store) == 5

    asyncio.run(main())


def test_other_calls_run_beside_the_event_loop() -> None:
    async def main() -> None:
        async with gathered(Recorded()) as gather:
            assert (
                await gather.run(lambda: threading.current_thread().name) != threading.current_thread().name
            )

    asyncio.run(main())


def test_the_states_agree_after_many_callers_pushed_claimed_and_settled() -> None:
    async def one(gather: Gather) -> None:
        await gather.push(batch())
        for delivery in await gather.claim("emails", Want(), wait=timedelta(seconds=10)):
            assert await gather.settle([Settlement(delivery.receipt, ACK)]) == [Settled.SETTLED]

    async def main() -> None:
        store = Recorded()
        async with gathered(store) as gather:
            await asyncio.gather(*(one(gather) for _ in range(200)))
        stats = store.queues.stats("emails")
        assert (stats.done, stats.ready, stats.leased) == (200, 0, 0)
        assert len(store.history.find("emails", state=State.DONE, limit=1000).records) == 200

    asyncio.run(main())
