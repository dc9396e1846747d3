"""Rates: a bucket of so many messages that refills evenly, for all claimers together."""

from datetime import timedelta
from typing import Any

import pytest

from rowmq.core.delivery import Want
from rowmq.core.message import Batch
from rowmq.core.outcome import ACK, Outcome, Reason, Release, Retry, State
from rowmq.core.queue import Rate
from rowmq.core.store import Store
from rowmq.core.where import Condition
from rowmq.testing.build import (
    FOREVER,
    T0,
    after,
    claim,
    claim_one,
    everything,
    message,
    messages,
    payloads,
    push,
    put_queue,
    settle,
    span,
    states,
)

CHOICES: list[dict[str, Any]] = [
    {},
    {"where": (Condition("c", "=", ("red",)),)},
    {"consumer": "w"},
    {"consumer": "w", "share": False},
    {"max_age": FOREVER},
    {"per_group": 3},
    {"upto": 2**40},
    {"since": T0 - FOREVER},
]


def filled(store: Store, count: int = 30, *, limit: int = 4, period: float = 4, **settings: Any) -> None:
    """Make a queue with a rate and put messages into it."""
    put_queue(store, rate=Rate(limit, span(period)), **settings)
    push(store, *messages(count, metadata={"c": "red"}))


def taken(store: Store, seconds: float, limit: int = 100, **options: Any) -> int:
    """Claim that long after the beginning, and count."""
    return len(claim(store, limit, now=after(seconds), **options))


@pytest.mark.parametrize("options", CHOICES, ids=str)
def test_a_claim_gives_what_the_bucket_holds(store: Store, options: dict[str, Any]) -> None:
    filled(store)
    assert payloads(claim(store, 100, **options)) == [0, 1, 2, 3]
    assert taken(store, 0, **options) == 0
    assert states(store) == {"ready": 26, "leased": 4}


def test_a_bucket_refills_evenly_by_the_clock(store: Store) -> None:
    filled(store)
    assert taken(store, 0) == 4
    assert [taken(store, seconds) for seconds in (0.999999, 1, 1.5, 2, 4.5, 4.9, 5)] == [0, 1, 0, 1, 2, 0, 1]


def test_a_bucket_is_never_fuller_than_full(store: Store) -> None:
    filled(store)
    assert taken(store, 100_000) == 4
    assert taken(store, 100_000) == 0
    assert taken(store, 200_000) == 4


def test_a_claim_smaller_than_the_bucket_leaves_the_rest(store: Store) -> None:
    filled(store)
    assert [taken(store, 0, limit) for limit in (1, 2, 3)] == [1, 2, 1]


def test_asking_in_vain_again_and_again_does_not_hold_up_the_refill(store: Store) -> None:
    filled(store, limit=1, period=7)
    assert taken(store, 0) == 1
    assert [taken(store, number / 5) for number in range(1, 35)] == [0] * 34
    assert taken(store, 7) == 1


def test_a_rate_holds_over_all_wants_of_a_call(store: Store) -> None:
    filled(store, limit=5)
    wants = [
        Want(limit=2),
        Want(limit=2, where=(Condition("c", "exists"),)),
        Want(limit=2),
        Want(limit=2, consumer="w"),
    ]
    answers = store.claim("q", wants, now=T0)
    assert [payloads(each) for each in answers] == [[0, 1], [2, 3], [4], []]


def test_a_run_of_a_group_counts_message_by_message(store: Store) -> None:
    put_queue(store, rate=Rate(3, span(3)))
    push(store, *messages(10, group="g"))
    assert payloads(claim(store, 10, per_group=10)) == [0, 1, 2]


def test_what_is_left_of_a_named_claim_is_given_again_without_counting(store: Store) -> None:
    filled(store)
    assert taken(store, 0, name="run") == 4
    assert taken(store, 0, name="run") == 4
    assert taken(store, 1) == 1


@pytest.mark.parametrize("outcome", [Release(), Retry(), ACK])
def test_nothing_that_becomes_of_a_message_refills_the_bucket(store: Store, outcome: Outcome) -> None:
    filled(store)
    for delivery in claim(store, 100):
        settle(store, delivery, outcome)
    assert taken(store, 0) == 0
    assert taken(store, 1) == 1


def test_a_redelivery_counts_like_a_delivery(store: Store) -> None:
    filled(store, 1, limit=1, period=60)
    first = claim_one(store)
    assert claim(store, now=after(30)) == []
    assert claim_one(store, now=after(60)).id == first.id


def test_what_is_buried_on_the_way_does_not_count(store: Store) -> None:
    filled(store, 5, max_age=span(10))
    push(store, *messages(3), now=after(9))
    assert payloads(claim(store, 100, now=after(10))) == [0, 1, 2]
    assert {found.reason for found in everything(store, state=State.DEAD, now=after(10))} == {Reason.EXPIRED}
    assert taken(store, 10) == 0


def test_claims_that_find_nothing_do_not_count(store: Store) -> None:
    put_queue(store, rate=Rate(2, span(60)))
    assert [taken(store, seconds) for seconds in range(5)] == [0] * 5
    push(store, *messages(3))
    assert taken(store, 5) == 2


def test_each_queue_has_a_bucket_of_its_own(store: Store) -> None:
    filled(store)
    put_queue(store, "other", rate=Rate(1, span(1)))
    put_queue(store, "free")
    for name in ("other", "free"):
        push(store, *messages(9), queue=name)
    assert taken(store, 0) == 4
    assert (taken(store, 0, queue="other"), taken(store, 0, queue="free")) == (1, 9)


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (None, 26),
        (Rate(8, span(4)), 2),
        (Rate(1, span(1)), 1),
        (Rate(2, span(0.5)), 2),
        (Rate(4, span(40)), 0),
    ],
)
def test_a_changed_rate_counts_from_the_next_claim_on(store: Store, rate: Rate | None, expected: int) -> None:
    filled(store)
    assert taken(store, 0) == 4
    put_queue(store, rate=rate)
    assert taken(store, 1) == expected


def test_a_rate_may_be_set_while_the_queue_is_in_use(store: Store) -> None:
    put_queue(store)
    push(store, *messages(30))
    assert taken(store, 0, 10) == 10
    put_queue(store, rate=Rate(3, span(60)))
    assert taken(store, 0) == 3


def test_a_queue_created_again_begins_with_a_full_bucket(store: Store) -> None:
    filled(store)
    assert taken(store, 0) == 4
    store.queues.drop("q", now=T0)
    filled(store)
    assert taken(store, 0) == 4


def test_the_largest_rates_hold_too(store: Store) -> None:
    filled(store, 5, limit=1_000_000, period=0.001)
    assert taken(store, 0, 3) == 3
    put_queue(store, rate=Rate(1_000_000, timedelta(days=1)))
    assert taken(store, 0) == 2


def test_without_a_given_moment_a_rate_goes_by_the_stores_own_clock(store: Store) -> None:
    put_queue(store, rate=Rate(2, timedelta(hours=5)))
    store.push([Batch("q", [message() for _ in range(9)])])
    assert [len(store.claim("q", [Want(limit=9)])[0]) for _ in range(2)] == [2, 0]
