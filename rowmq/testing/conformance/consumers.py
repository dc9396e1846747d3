"""Consumers: who is alive, in which place, and whose share comes first."""

from typing import Any

import pytest

from rowmq.core.delivery import Membership
from rowmq.core.errors import InvalidSetting, QueueNotFound
from rowmq.core.history import ConsumerInfo
from rowmq.core.outcome import Retry
from rowmq.core.store import Store
from rowmq.testing.build import (
    T0,
    after,
    claim,
    claim_one,
    messages,
    push,
    put_queue,
    record,
    settle,
    span,
)

TTL = span(10)


def beat(store: Store, name: str, seconds: float = 0, *, queue: str = "q") -> Membership:
    """Beat that long after the beginning."""
    return store.consumers.beat(queue, name, TTL, now=after(seconds))


def seqs(store: Store, limit: int, seconds: float = 0, **options: Any) -> list[int]:
    """Claim, and return the seqs."""
    return [delivery.receipt.seq for delivery in claim(store, limit, now=after(seconds), **options)]


def test_the_first_beat_registers_a_consumer(store: Store) -> None:
    put_queue(store)
    assert beat(store, "a") == Membership(0, 1, joined=True)
    assert beat(store, "a", 1) == Membership(0, 1, joined=False)


def test_places_follow_the_order_of_birth(store: Store) -> None:
    put_queue(store)
    assert beat(store, "z") == Membership(0, 1, joined=True)
    assert beat(store, "a", 1) == Membership(1, 2, joined=True)
    assert beat(store, "m", 2) == Membership(2, 3, joined=True)
    assert beat(store, "z", 3) == Membership(0, 3, joined=False)
    assert beat(store, "a", 3) == Membership(1, 3, joined=False)


def test_consumers_born_at_one_moment_have_places_of_their_own(store: Store) -> None:
    put_queue(store)
    for name in ("b", "a", "c"):
        beat(store, name)
    assert [beat(store, name).index for name in ("b", "a", "c")] == [0, 1, 2]


def test_a_consumer_is_alive_until_its_time_to_live_has_passed(store: Store) -> None:
    put_queue(store)
    beat(store, "a")
    assert store.consumers.list("q", now=after(9.999999)) == [ConsumerInfo("q", "a", T0, after(10))]
    assert store.consumers.list("q", now=after(10)) == []


def test_a_beat_keeps_a_consumer_alive_and_its_birth(store: Store) -> None:
    put_queue(store)
    beat(store, "a")
    beat(store, "a", 9)
    assert store.consumers.list(now=after(18)) == [ConsumerInfo("q", "a", T0, after(19))]


def test_the_dead_are_forgotten_and_the_others_move_up(store: Store) -> None:
    put_queue(store)
    beat(store, "a")
    beat(store, "b", 1)
    beat(store, "c", 2)
    assert beat(store, "b", 10) == Membership(0, 2, joined=False)
    assert [each.name for each in store.consumers.list("q", now=after(10))] == ["b", "c"]


def test_a_consumer_that_finds_itself_gone_joins_anew_at_the_end(store: Store) -> None:
    put_queue(store)
    beat(store, "a")
    beat(store, "b", 5)
    assert beat(store, "a", 10) == Membership(1, 2, joined=True)
    assert [(each.name, each.born_at) for each in store.consumers.list(now=after(10))] == [
        ("b", after(5)),
        ("a", after(10)),
    ]


def test_a_retired_consumer_is_forgotten_at_once(store: Store) -> None:
    put_queue(store)
    beat(store, "a")
    beat(store, "b")
    assert store.consumers.retire("q", "a") is True
    assert store.consumers.retire("q", "a") is False
    assert beat(store, "b", 1) == Membership(0, 1, joined=False)
    assert beat(store, "a", 1) == Membership(1, 2, joined=True)


def test_retiring_an_unknown_consumer_is_false(store: Store) -> None:
    assert store.consumers.retire("nowhere", "nobody") is False


def test_consumers_of_different_queues_do_not_count_together(store: Store) -> None:
    put_queue(store, "x")
    put_queue(store, "y")
    beat(store, "a", queue="x")
    assert beat(store, "a", queue="y") == Membership(0, 1, joined=True)
    assert beat(store, "b", queue="y") == Membership(1, 2, joined=True)
    assert [(each.queue, each.name) for each in store.consumers.list(now=T0)] == [
        ("x", "a"),
        ("y", "a"),
        ("y", "b"),
    ]
    assert len(store.consumers.list("x", now=T0)) == 1


def test_beating_for_an_unknown_queue_raises(store: Store) -> None:
    with pytest.raises(QueueNotFound):
        beat(store, "a", queue="nowhere")


@pytest.mark.parametrize("seconds", [0, -1, 3651 * 86400])
def test_a_time_to_live_has_a_range(store: Store, seconds: float) -> None:
    put_queue(store)
    with pytest.raises(InvalidSetting, match="lives longer than 0"):
        store.consumers.beat("q", "a", span(seconds), now=T0)
    with pytest.raises(InvalidSetting, match="lives longer than 0"):
        store.consumers.lead("sweep", "a", span(seconds), now=T0)


# The lead.


def lead(store: Store, name: str, seconds: float = 0, *, role: str = "sweep") -> bool:
    """Ask for the lead that long after the beginning."""
    return store.consumers.lead(role, name, TTL, now=after(seconds))


def test_the_first_who_asks_leads_until_its_time_to_live_has_passed(store: Store) -> None:
    assert lead(store, "a") is True
    assert [lead(store, "b", seconds) for seconds in (0, 5, 9.999999)] == [False] * 3
    assert lead(store, "b", 10) is True
    assert lead(store, "a", 10) is False


def test_a_leader_that_asks_again_leads_on(store: Store) -> None:
    assert [lead(store, "a", seconds) for seconds in (0, 0, 9, 18)] == [True] * 4
    assert lead(store, "b", 27) is False
    assert lead(store, "b", 28) is True


def test_a_leader_that_comes_too_late_may_lead_again_if_nobody_else_has(store: Store) -> None:
    assert lead(store, "a") is True
    assert lead(store, "a", 1000) is True


def test_a_lead_that_is_over_is_forgotten_by_a_sweep(store: Store) -> None:
    for role, seconds in (("former", 0), ("present", 1)):
        assert lead(store, "a", seconds, role=role) is True
    assert [store.history.sweep(now=after(seconds)).forgotten for seconds in (9.999999, 10, 10)] == [0, 1, 0]
    assert lead(store, "b", 10, role="present") is False
    assert lead(store, "b", 10, role="former") is True


def test_a_leader_may_shorten_its_lead(store: Store) -> None:
    assert lead(store, "a") is True
    assert store.consumers.lead("sweep", "a", span(1), now=T0) is True
    assert lead(store, "b", 1) is True


def test_each_role_has_a_leader_of_its_own(store: Store) -> None:
    assert lead(store, "a", role="sweep") is True
    assert lead(store, "b", role="schedules") is True
    assert lead(store, "a", role="schedules") is False


def test_a_lead_may_go_by_the_stores_own_clock(store: Store) -> None:
    assert store.consumers.lead("sweep", "a", span(3600)) is True
    assert store.consumers.lead("sweep", "b", span(3600)) is False


# The share.


def test_a_registered_consumer_gets_its_own_share_first(store: Store) -> None:
    put_queue(store)
    for name in "ab":
        beat(store, name)
    pushed = list(push(store, *messages(8)).seqs)
    own = [seq for seq in pushed if seq % 2 == 1]
    assert seqs(store, 4, consumer="b") == own[:4]


def test_a_consumer_takes_others_shares_when_its_own_is_used_up(store: Store) -> None:
    put_queue(store)
    for name in "ab":
        beat(store, name)
    pushed = list(push(store, *messages(6)).seqs)
    assert sorted(seqs(store, 6, consumer="a")) == pushed


def test_the_share_is_sought_among_the_first_limit_times_count(store: Store) -> None:
    put_queue(store)
    for name in "abc":
        beat(store, name)
    pushed = list(push(store, *messages(12)).seqs)
    own = [seq for seq in pushed[:3] if seq % 3 == 0]
    assert seqs(store, 1, consumer="a") == own
    assert claim_one(store).receipt.seq == next(seq for seq in pushed if seq not in own)


def test_a_batch_for_a_share_comes_in_the_order_of_the_queue(store: Store) -> None:
    put_queue(store)
    for name in "ab":
        beat(store, name)
    pushed = list(push(store, *messages(3)).seqs)
    assert seqs(store, 3, consumer="a") == pushed


def test_an_unregistered_consumer_takes_what_comes(store: Store) -> None:
    put_queue(store)
    for name in "ab":
        beat(store, name)
    pushed = list(push(store, *messages(4)).seqs)
    assert seqs(store, 2, consumer="stranger") == pushed[:2]
    assert seqs(store, 2) == pushed[2:]


def test_a_consumer_that_has_died_takes_what_comes(store: Store) -> None:
    put_queue(store)
    beat(store, "a")
    for seconds in (0, 9):
        beat(store, "b", seconds)
    pushed = list(push(store, *messages(4)).seqs)
    assert seqs(store, 2, 10, consumer="a") == pushed[:2]


def test_the_share_of_the_dead_goes_to_the_living(store: Store) -> None:
    put_queue(store)
    beat(store, "a")
    for seconds in (0, 9):
        beat(store, "b", seconds)
    pushed = list(push(store, *messages(4)).seqs)
    assert seqs(store, 2, 10, consumer="b") == pushed[:2]


def test_shares_of_all_consumers_together_are_everything(store: Store) -> None:
    put_queue(store)
    for name in "abc":
        beat(store, name)
    pushed = set(push(store, *messages(30)).seqs)
    taken = [seq for name in "abc" for seq in seqs(store, 10, consumer=name)]
    assert len(taken) == 30
    assert set(taken) == pushed


def test_a_consumer_that_wants_no_share_takes_what_comes_and_is_written_down(store: Store) -> None:
    put_queue(store)
    for name in "ab":
        beat(store, name)
    pushed = list(push(store, *messages(4)).seqs)
    held = claim(store, 4, consumer="b", share=False)
    assert [delivery.receipt.seq for delivery in held] == pushed
    assert record(store, held[0].id).consumer == "b"
    settle(store, held[0], now=after(1))
    settle(store, held[1], Retry(error="boom"), now=after(1))
    assert record(store, held[0].id, now=after(1)).consumer == "b"
    assert [failed.consumer for failed in store.history.failures(held[1].id)] == ["b"]


def test_a_consumer_that_wants_no_share_may_have_conditions(store: Store) -> None:
    put_queue(store)
    for name in "ab":
        beat(store, name)
    pushed = list(push(store, *messages(4)).seqs)
    held = claim(store, 2, consumer="b", share=False, upto=pushed[2])
    assert [delivery.receipt.seq for delivery in held] == pushed[:2]
    assert {record(store, one.id).consumer for one in held} == {"b"}
