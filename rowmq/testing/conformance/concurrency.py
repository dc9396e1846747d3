"""Many callers at once: nothing twice, nothing lost, nothing out of order."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import TypeVar

from rowmq.core.delivery import Settlement
from rowmq.core.message import Batch, Pushed
from rowmq.core.outcome import ACK, Settled
from rowmq.core.queue import Rate
from rowmq.core.store import Store
from rowmq.testing.build import (
    T0,
    after,
    claim,
    dead_message,
    ids,
    message,
    messages,
    push,
    put_queue,
    schedule,
    settle,
    span,
    states,
)

THREADS = 4
T = TypeVar("T")


def together(*calls: Callable[[], T]) -> Sequence[T]:
    """Make the calls at one moment, each in a thread of its own, and return what they return."""
    barrier = Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        barrier.wait(timeout=30)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_no_message_is_claimed_twice(store: Store) -> None:
    put_queue(store)
    given = messages(120)
    push(store, *given)

    def drain() -> list[object]:
        taken: list[object] = []
        while held := claim(store, 7):
            taken += ids(held)
        return taken

    taken = [each for part in together(*[drain] * THREADS) for each in part]
    assert len(taken) == len(given)
    assert set(taken) == set(ids(given))


def test_as_many_large_claims_as_a_store_says_may_be_under_way_at_once(store: Store) -> None:
    put_queue(store)
    given = messages(250)
    push(store, *given)
    assert store.abreast >= 1
    taken = [each for held in together(*[partial(claim, store, 100)] * store.abreast) for each in ids(held)]
    taken += ids(claim(store, 250))
    assert len(taken) == len(given)
    assert set(taken) == set(ids(given))


def test_no_message_is_lost_or_doubled_between_pushers_and_claimers(store: Store) -> None:
    put_queue(store)

    def produce() -> set[object]:
        return {id_ for _ in range(15) for id_ in push(store, *messages(2)).ids}

    def consume() -> set[object]:
        taken: set[object] = set()
        for _ in range(30):
            held = claim(store, 3)
            answers = store.settle([Settlement(delivery.receipt, ACK) for delivery in held], now=T0)
            assert set(answers) <= {Settled.SETTLED}
            assert taken.isdisjoint(ids(held))
            taken |= set(ids(held))
        return taken

    first, second, third, fourth = together(produce, produce, consume, consume)
    assert third.isdisjoint(fourth)
    rest = set(ids(claim(store, 1000)))
    assert third | fourth | rest == first | second


def test_one_dedup_key_pushed_by_many_counts_once(store: Store) -> None:
    put_queue(store)
    answers = together(*[lambda: push(store, message(key="k"))] * THREADS)
    assert len({answer.ids[0] for answer in answers}) == 1
    assert sum(len(answer.seen) for answer in answers) == THREADS - 1
    assert states(store) == {"ready": 1}


def test_one_message_pushed_by_many_counts_once(store: Store) -> None:
    put_queue(store)
    said = message()
    answers = together(*[lambda: push(store, said)] * THREADS)
    assert len({answer.seqs[0] for answer in answers}) == 1
    assert states(store) == {"ready": 1}


def test_a_queue_pushed_to_by_many_is_never_longer_than_it_may_be(store: Store) -> None:
    put_queue(store, max_length=10)

    def fill() -> int:
        answers = [store.push([Batch("q", messages(3))], now=T0)[0] for _ in range(3)]
        return sum(isinstance(answer, Pushed) for answer in answers)

    assert sum(together(*[fill] * THREADS)) == 3
    assert states(store) == {"ready": 9}


def test_one_ack_of_many_wins(store: Store) -> None:
    put_queue(store)
    push(store, message())
    (delivery,) = claim(store)
    answers = together(*[lambda: settle(store, delivery)] * THREADS)
    assert sorted(answers) == sorted([Settled.SETTLED] + [Settled.REPEATED] * (THREADS - 1))


def test_a_group_is_in_the_hands_of_one_at_a_time(store: Store) -> None:
    put_queue(store)
    push(store, *messages(24, group="g"))
    done: list[int] = []

    def work() -> None:
        while len(done) < 24:
            for delivery in claim(store, 5):
                done.append(delivery.payload)
                settle(store, delivery)

    together(*[work] * THREADS)
    assert done == list(range(24))


def test_a_group_pushed_to_by_many_is_not_stuck(store: Store) -> None:
    put_queue(store)

    def churn() -> None:
        for _ in range(8):
            push(store, message(group="g"))
            for delivery in claim(store):
                settle(store, delivery)

    together(*[churn] * THREADS)
    while held := claim(store, 5):
        assert len(held) == 1
        settle(store, held[0])
    assert states(store) == {"done": 8 * THREADS}


def test_a_tick_fires_once_whoever_comes_first(store: Store) -> None:
    put_queue(store)
    store.schedules.put(schedule("s"), now=T0)
    fired = together(*[lambda: store.schedules.fire("s", T0, after(60), now=T0)] * THREADS)
    assert sorted(fired) == [False] * (THREADS - 1) + [True]
    assert states(store) == {"ready": 1}


def test_a_named_claim_is_made_once_whoever_comes_first(store: Store) -> None:
    put_queue(store)
    push(store, *messages(20))
    claims = together(*[lambda: claim(store, 5, name="run")] * THREADS)
    assert [ids(each) for each in claims] == [ids(claims[0])] * THREADS
    assert states(store) == {"ready": 15, "leased": 5}


def test_no_message_published_while_a_queue_is_bound_is_stranded(store: Store) -> None:
    put_queue(store)
    publish = [lambda: store.topics.publish("t", messages(5), now=T0)] * (THREADS - 1)
    together(*publish, lambda: int(store.topics.bind("t", "q", now=T0)))
    assert states(store) == {"ready": 5 * (THREADS - 1)}


def test_many_sweepers_bury_each_message_once(store: Store) -> None:
    put_queue(store, max_age=span(10))
    push(store, *messages(40))
    swept = together(*[lambda: store.history.sweep(now=after(10)).buried] * THREADS)
    assert sum(swept) == 40
    assert states(store, now=after(10)) == {"dead": 40}


def test_a_redrive_by_many_moves_each_message_once(store: Store) -> None:
    put_queue(store)
    for _ in range(10):
        dead_message(store)
    moved = together(*[lambda: store.history.redrive("q", now=after(1))] * THREADS)
    assert sum(moved) == 10
    assert states(store, now=after(1)) == {"ready": 10}


def test_a_rate_holds_for_all_who_claim_at_once(store: Store) -> None:
    put_queue(store, rate=Rate(10, span(60)))
    push(store, *messages(60))

    def drain() -> int:
        return sum(
            len(claim(store, limit, consumer=consumer)) for limit in (1, 2, 3) for consumer in (None, "w")
        )

    assert sum(together(*[drain] * THREADS)) == 10
    assert states(store) == {"ready": 50, "leased": 10}


def test_one_of_many_who_ask_at_once_leads(store: Store) -> None:
    for start in (0, 60):

        def ask(name: str, seconds: float = start) -> bool:
            return store.consumers.lead("sweep", name, span(60), now=after(seconds))

        leads = together(*[partial(ask, f"w{number}") for number in range(THREADS)])
        assert sorted(leads) == [False] * (THREADS - 1) + [True]


def test_a_queue_created_by_many_is_created_once(store: Store) -> None:
    queues = together(*[lambda: put_queue(store)] * THREADS)
    assert store.queues.list() == [queues[0]]
