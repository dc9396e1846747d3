"""Sweeping: what happens although nobody comes."""

import pytest

from rowmq.core.history import FailedAttempt, LedgerEntry, Swept
from rowmq.core.outcome import VANISHED, Bury, Reason, Retry, State
from rowmq.core.queue import Archive, Guarantee
from rowmq.core.store import IDS_KEPT, Store
from rowmq.testing.build import (
    T0,
    after,
    claim,
    claim_one,
    dead_message,
    done_message,
    everything,
    message,
    messages,
    payloads,
    push,
    put_queue,
    record,
    settle,
    span,
    states,
)

ONCE = Guarantee.AT_MOST_ONCE


def sweep(store: Store, seconds: float, *, limit: int = 1000) -> Swept:
    """Sweep that long after the beginning."""
    return store.history.sweep(limit=limit, now=after(seconds))


def test_a_sweep_of_nothing_does_nothing(store: Store) -> None:
    assert sweep(store, 0) == Swept(0, 0, 0, more=False)
    put_queue(store)
    push(store, message())
    assert sweep(store, 10) == Swept(0, 0, 0, more=False)


# Burying.


def test_a_sweep_buries_a_message_whose_last_lease_ran_out(store: Store) -> None:
    put_queue(store, max_attempts=1)
    push(store, message())
    delivery = claim_one(store, consumer="w")
    assert sweep(store, 29.999999).buried == 0
    assert sweep(store, 30).buried == 1
    found = record(store, delivery.id, now=after(30))
    assert (found.state, found.reason, found.finished_at) == (State.DEAD, Reason.EXHAUSTED, after(30))
    assert store.history.failures(delivery.id) == [FailedAttempt(1, "q", "w", T0, after(30), VANISHED)]
    assert sweep(store, 31).buried == 0


def test_a_sweep_leaves_a_message_that_may_be_tried_again(store: Store) -> None:
    put_queue(store, max_attempts=2)
    push(store, message())
    delivery = claim_one(store)
    assert sweep(store, 30).buried == 0
    assert store.history.failures(delivery.id) == []
    assert claim_one(store, now=after(30)).attempt == 2


def test_a_sweep_gives_up_what_an_at_most_once_holder_left(store: Store) -> None:
    put_queue(store, delivery=ONCE)
    push(store, message())
    delivery = claim_one(store)
    assert sweep(store, 29).buried == 0
    assert sweep(store, 45).buried == 1
    assert record(store, delivery.id, now=after(45)).reason is Reason.LOST
    assert [(each.ended_at, each.error) for each in store.history.failures(delivery.id)] == [
        (after(30), VANISHED)
    ]


def test_a_sweep_buries_what_is_past_its_deadline_in_an_at_most_once_queue(store: Store) -> None:
    put_queue(store, delivery=ONCE)
    given = [message(deadline=after(10)), message(deadline=after(10), delay=span(600)), message()]
    push(store, *given)
    assert sweep(store, 9.999999).buried == 0
    assert sweep(store, 10).buried == 2
    assert [record(store, each.id, now=after(10)).reason for each in given] == [Reason.EXPIRED] * 2 + [None]
    assert store.history.failures(given[0].id) == []


def test_a_sweep_buries_what_is_too_old_also_when_scheduled_or_behind_its_head(store: Store) -> None:
    put_queue(store, max_age=span(60))
    push(store, message(), message(delay=span(600)), message(group="g"), message(group="g"))
    assert sweep(store, 59).buried == 0
    assert sweep(store, 60).buried == 4
    assert states(store, now=after(60)) == {"dead": 4}


def test_a_sweep_leaves_what_is_too_old_to_its_holder_while_the_lease_runs(store: Store) -> None:
    put_queue(store, max_age=span(60))
    push(store, *messages(3, group="g"))
    held = claim(store, 2, per_group=2, now=after(50))
    assert sweep(store, 60).buried == 1
    assert states(store, now=after(60)) == {"leased": 2, "dead": 1}
    assert sweep(store, 80).buried == 2
    assert [record(store, each.id, now=after(80)).reason for each in held] == [Reason.EXPIRED] * 2
    assert [len(store.history.failures(each.id)) for each in held] == [1, 1]


def test_a_sweep_buries_what_has_more_attempts_than_a_lowered_limit_once_it_is_due(store: Store) -> None:
    put_queue(store)
    push(store, message())
    delivery = claim_one(store)
    settle(store, delivery, Retry(delay=span(60)))
    put_queue(store, max_attempts=1)
    assert sweep(store, 59).buried == 0
    assert sweep(store, 60).buried == 1
    assert record(store, delivery.id, now=after(60)).reason is Reason.EXHAUSTED


def test_a_sweep_buries_in_a_paused_queue_too(store: Store) -> None:
    put_queue(store, max_age=span(60), paused=True)
    push(store, message())
    assert sweep(store, 60).buried == 1


def test_a_buried_head_gives_way_to_the_next_at_a_sweep(store: Store) -> None:
    put_queue(store, max_attempts=1)
    push(store, *messages(2, group="g"))
    claim_one(store)
    assert sweep(store, 30).buried == 1
    assert payloads(claim(store, 10, now=after(30))) == [1]


def test_a_sweep_stops_at_its_limit_and_says_so(store: Store) -> None:
    put_queue(store, max_age=span(60))
    push(store, *messages(5))
    first, second, third = sweep(store, 60, limit=2), sweep(store, 60, limit=2), sweep(store, 60, limit=2)
    assert [each.buried for each in (first, second, third)] == [2, 2, 1]
    assert (first.more, third.more) == (True, False)


def test_a_sweep_serves_all_queues(store: Store) -> None:
    for name in "abc":
        put_queue(store, name, max_age=span(60))
        push(store, message(), queue=name)
    assert sweep(store, 60).buried == 3


def test_a_sweep_goes_by_the_rules_of_each_queue(store: Store) -> None:
    put_queue(store, "strict", max_attempts=1, max_age=span(60))
    put_queue(store, "lenient", max_attempts=2)
    for queue in ("strict", "lenient"):
        push(store, message("tried"), queue=queue)
        claim_one(store, queue=queue)
        push(store, message("old"), queue=queue)
    assert sweep(store, 61).buried == 2
    assert store.queues.stats("strict", now=after(61)).dead == 2
    assert store.queues.stats("lenient", now=after(61)).ready == 2


# Retention.


def test_a_sweep_prunes_finished_messages_past_retention(store: Store) -> None:
    put_queue(store, retention=span(100))
    done, dead = done_message(store), dead_message(store)
    push(store, message())
    first, last = (record(store, each).seq for each in (done, dead))
    assert sweep(store, 99.999999).pruned == 0
    assert sweep(store, 100).pruned == 2
    assert states(store, now=after(100)) == {"ready": 1}
    assert store.history.get(done, now=after(100)) is None
    assert store.history.ledger() == [LedgerEntry(after(100), "q", "retention", 2, first, last)]


def test_retention_counts_from_the_end_not_from_the_push(store: Store) -> None:
    put_queue(store, retention=span(100))
    push(store, message())
    settle(store, claim_one(store, now=after(50)), now=after(60))
    assert sweep(store, 159).pruned == 0
    assert sweep(store, 160).pruned == 1


def test_a_pruned_message_is_gone_with_its_failed_attempts(store: Store) -> None:
    put_queue(store, retention=span(100))
    said = message()
    push(store, said)
    settle(store, claim_one(store), Bury(error="x"))
    sweep(store, 100)
    assert store.history.failures(said.id) == []
    assert push(store, said, now=after(100)).seen == frozenset()


def test_without_retention_finished_messages_stay_for_ever(store: Store) -> None:
    put_queue(store, retention=None)
    done_message(store)
    assert sweep(store, 3e8).pruned == 0


def test_with_retention_0_id_and_outcome_stay_for_an_hour(store: Store) -> None:
    put_queue(store, retention=span(0))
    done = done_message(store)
    assert sweep(store, IDS_KEPT.total_seconds() - 1).pruned == 0
    assert record(store, done).state is State.DONE
    assert sweep(store, IDS_KEPT.total_seconds()).pruned == 1


def test_a_new_retention_holds_for_what_is_already_finished(store: Store) -> None:
    put_queue(store)
    done_message(store)
    put_queue(store, retention=span(10))
    assert sweep(store, 10).pruned == 1


def test_retention_waits_for_the_archive_where_that_is_required(store: Store) -> None:
    put_queue(store, retention=span(100), archive=Archive.REQUIRED)
    archived, waiting = done_message(store), done_message(store)
    assert sweep(store, 100).pruned == 0
    store.history.archive([record(store, archived).seq], now=after(101))
    assert sweep(store, 102).pruned == 1
    assert [found.id for found in everything(store, now=after(102))] == [waiting]


def test_pruning_stops_at_its_limit_and_says_so(store: Store) -> None:
    put_queue(store, retention=span(100))
    for _ in range(3):
        done_message(store)
    first, second = sweep(store, 100, limit=2), sweep(store, 100, limit=2)
    assert [(each.pruned, each.more) for each in (first, second)] == [(2, True), (1, False)]


def test_each_queue_is_pruned_by_its_own_retention(store: Store) -> None:
    put_queue(store, "short", retention=span(10))
    put_queue(store, "long", retention=span(1000))
    for name in ("short", "long"):
        done_message(store, queue=name)
    assert sweep(store, 100).pruned == 1
    assert (states(store, "short"), states(store, "long")) == ({}, {"done": 1})
    assert [entry.queue for entry in store.history.ledger()] == ["short"]


# Forgetting.


def test_a_sweep_forgets_dedup_keys_whose_window_is_over(store: Store) -> None:
    put_queue(store)
    push(store, message(key="k", window=span(60)))
    assert sweep(store, 59).forgotten == 0
    assert sweep(store, 60).forgotten == 1
    assert sweep(store, 60).forgotten == 0


def test_a_sweep_forgets_consumers_that_are_dead(store: Store) -> None:
    put_queue(store)
    store.consumers.beat("q", "w", span(60), now=T0)
    assert sweep(store, 59).forgotten == 0
    assert sweep(store, 60).forgotten == 1


@pytest.mark.parametrize("seconds", [1, 100_000])
def test_a_sweep_leaves_what_is_nobodys_fault(store: Store, seconds: int) -> None:
    put_queue(store, max_attempts=1)
    push(store, message(), message(delay=span(50)), message(group="g"), message(group="g"))
    assert sweep(store, seconds) == Swept(0, 0, 0, more=False)


@pytest.mark.parametrize("names", [("a", "b", "c"), ("c", "b", "a")], ids=str)
def test_a_sweep_buries_a_message_once_though_its_next_queue_would_too(
    store: Store, names: tuple[str, str, str]
) -> None:
    for name, target in zip(reversed(names), (None, *reversed(names[1:])), strict=True):
        put_queue(store, name, max_age=span(60), dead_letter=target)
    push(store, message(), queue=names[0])
    for place in (1, 2):
        assert sweep(store, 100).buried == 1
        assert states(store, names[place], now=after(100)) == {"ready": 1}
    assert sweep(store, 100).buried == 1
    assert states(store, names[2], now=after(100)) == {"dead": 1}
