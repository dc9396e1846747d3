"""History: looking things up, and putting things right."""

from uuid import UUID, uuid4

import pytest

from rowmq.core.errors import QueueNotFound
from rowmq.core.history import Amendment, LedgerEntry
from rowmq.core.outcome import Bury, Reason, Retry, Settled, State
from rowmq.core.store import Store
from rowmq.core.where import Condition, where
from rowmq.testing.build import (
    T0,
    after,
    claim,
    claim_one,
    dead_message,
    done_message,
    everything,
    ids,
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

RETRY, KILL, MOVE, DROP = Amendment.RETRY, Amendment.KILL, Amendment.MOVE, Amendment.DROP


def put_one_of_each(store: Store) -> dict[State, UUID]:
    """Leave one message in every state and return their ids by state."""
    put_queue(store)
    found = {State.DONE: done_message(store), State.DEAD: dead_message(store)}
    waiting = [message(priority=9), message(), message(delay=span(600))]
    push(store, *waiting)
    claim_one(store)
    return found | dict(zip((State.LEASED, State.READY, State.SCHEDULED), ids(waiting), strict=True))


def amend(store: Store, amendment: Amendment, *given: UUID, to: str | None = None, seconds: float = 1) -> int:
    """Amend messages that long after the beginning."""
    return store.history.amend(given, amendment, to=to, now=after(seconds))


# The receipt of a holder.


def test_the_receipt_of_a_held_message_is_its_holders(store: Store) -> None:
    put_queue(store)
    push(store, *messages(3))
    held = claim(store, 2)
    assert [store.history.receipt(each.id, now=after(1)) for each in held] == [each.receipt for each in held]


def test_a_message_that_nobody_holds_has_no_receipt(store: Store) -> None:
    given = put_one_of_each(store)
    found = {state: store.history.receipt(id, now=after(1)) for state, id in given.items()}
    assert [state for state, receipt in found.items() if receipt is not None] == [State.LEASED]
    assert store.history.receipt(uuid4(), now=after(1)) is None


def test_a_receipt_is_nobodys_once_its_lease_has_ended(store: Store) -> None:
    put_queue(store)
    push(store, message())
    held = claim_one(store, lease=span(10))
    assert store.history.receipt(held.id, now=after(9)) == held.receipt
    assert store.history.receipt(held.id, now=after(10)) is None


def test_a_message_given_back_has_no_receipt_until_it_is_claimed_again(store: Store) -> None:
    put_queue(store)
    push(store, message())
    held = claim_one(store)
    settle(store, held, Retry(delay=span(5)))
    assert store.history.receipt(held.id, now=after(1)) is None
    again = claim_one(store, now=after(6))
    assert store.history.receipt(held.id, now=after(6)) == again.receipt != held.receipt


# Find.


def test_an_unknown_id_is_none(store: Store) -> None:
    assert store.history.get(uuid4(), now=T0) is None


def test_messages_are_found_in_the_order_of_their_seqs(store: Store) -> None:
    put_queue(store, "b")
    put_queue(store, "a")
    given = messages(4)
    for number, each in enumerate(given):
        push(store, each, queue="ab"[number % 2])
    found = everything(store)
    assert ids(found) == ids(given)
    assert [each.seq for each in found] == sorted(each.seq for each in found)
    assert ids(everything(store, "a")) == ids(given[::2])
    assert everything(store, "nowhere") == []


def test_what_is_found_is_what_is_got(store: Store) -> None:
    put_one_of_each(store)
    found = everything(store, now=after(1))
    assert len(found) == 5
    assert [record(store, each.id, now=after(1)) for each in found] == found


@pytest.mark.parametrize("state", list(State))
def test_messages_are_found_by_state(store: Store, state: State) -> None:
    expected = put_one_of_each(store)
    found = everything(store, "q", state=state, now=after(1))
    assert ids(found) == [expected[state]]
    assert found[0].state is state
    assert ids(everything(store, state=state, now=after(1))) == [expected[state]]


def test_a_state_depends_on_the_moment(store: Store) -> None:
    put_one_of_each(store)
    assert len(everything(store, state=State.READY, now=after(600))) == 3
    assert everything(store, state=State.LEASED, now=after(600)) == []


def test_messages_are_found_by_metadata(store: Store) -> None:
    put_queue(store)
    red, blue = message(metadata={"c": "red"}), message(metadata={"c": "blue"})
    push(store, red, blue, message())
    settle(store, claim_one(store))
    assert ids(everything(store, where=where({"c": "red"}))) == [red.id]
    assert ids(everything(store, where=where({"c": ["red", "blue"]}))) == [red.id, blue.id]
    assert ids(everything(store, where=(Condition("c", "exists"), Condition("c", "!=", ("red",))))) == [
        blue.id
    ]


def test_messages_are_found_by_when_they_were_pushed(store: Store) -> None:
    put_queue(store)
    for number in range(4):
        push(store, message(number), now=after(number))
    assert payloads(everything(store, since=after(1), until=after(3))) == [1, 2]
    assert payloads(everything(store, since=after(2))) == [2, 3]
    assert payloads(everything(store, until=after(1))) == [0]


def test_pages_follow_each_other_without_gaps_or_repeats(store: Store) -> None:
    put_queue(store)
    given = messages(10)
    push(store, *given)
    found, position, pages = [], 0, 0
    while True:
        page = store.history.find("q", after=position, limit=3, now=T0)
        found += ids(page.records)
        pages += 1
        if page.after is None:
            break
        assert page.after == page.records[-1].seq
        position = page.after
    assert found == ids(given)
    assert pages == 4


def test_pages_hold_only_what_was_looked_for(store: Store) -> None:
    put_queue(store)
    push(store, *(message(number, metadata={"even": str(number % 2 == 0)}) for number in range(10)))
    first = store.history.find("q", where=where({"even": "True"}), limit=3, now=T0)
    assert payloads(first.records) == [0, 2, 4]
    assert first.after is not None
    rest = store.history.find("q", where=where({"even": "True"}), after=first.after, limit=3, now=T0)
    assert (payloads(rest.records), rest.after) == ([6, 8], None)


def test_a_page_has_a_hundred_records_unless_asked_otherwise(store: Store) -> None:
    put_queue(store)
    push(store, *messages(101))
    assert len(store.history.find("q", now=T0).records) == 100


def test_nothing_found_is_an_empty_last_page(store: Store) -> None:
    page = store.history.find(now=T0)
    assert (list(page.records), page.after) == ([], None)


def test_failed_attempts_of_an_unknown_message_are_none(store: Store) -> None:
    assert store.history.failures(uuid4()) == []


def test_failed_attempts_come_oldest_first(store: Store) -> None:
    put_queue(store, max_attempts=None)
    push(store, message())
    for number in range(12):
        delivery = claim_one(store, now=after(number))
        settle(store, delivery, Retry(error=str(number)), now=after(number))
    failed = store.history.failures(delivery.id)
    assert [(each.attempt, each.error) for each in failed] == [(n + 1, str(n)) for n in range(12)]


# Bulk reading and archiving.


def test_bounds_are_the_lowest_and_the_highest_seq(store: Store) -> None:
    assert store.history.bounds() == (0, 0)
    put_queue(store)
    pushed = push(store, *messages(3))
    assert store.history.bounds() == (pushed.seqs[0], pushed.seqs[2])
    settle(store, claim_one(store))
    assert store.history.bounds() == (pushed.seqs[0], pushed.seqs[2])


def test_a_scan_gives_every_message_between_two_seqs(store: Store) -> None:
    put_queue(store)
    pushed = push(store, *messages(6))
    assert payloads(store.history.scan(pushed.seqs[1], pushed.seqs[4], now=T0)) == [1, 2, 3, 4]
    assert payloads(store.history.scan(*store.history.bounds(), now=T0)) == [0, 1, 2, 3, 4, 5]
    assert store.history.scan(pushed.seqs[5] + 1, pushed.seqs[5] + 100, now=T0) == []


def test_a_scan_may_be_of_one_queue_and_one_state(store: Store) -> None:
    expected = put_one_of_each(store)
    put_queue(store, "other")
    other = push(store, message(), queue="other").ids[0]
    bounds = store.history.bounds()
    assert ids(store.history.scan(*bounds, queue="other", now=after(1))) == [other]
    for state in State:
        found = store.history.scan(*bounds, queue="q", state=state, now=after(1))
        assert ids(found) == [expected[state]]
        assert found == [record(store, expected[state], now=after(1))]


def test_finished_messages_are_archived_and_others_are_not(store: Store) -> None:
    put_one_of_each(store)
    seqs = [each.seq for each in everything(store, now=after(1))]
    assert store.history.archive(seqs, now=after(1)) == 2
    assert len(everything(store, now=after(1))) == 5
    assert store.history.archive([], now=after(1)) == 0
    assert store.history.archive([max(seqs) + 100], now=after(1)) == 0


def test_archiving_may_delete_what_is_archived(store: Store) -> None:
    put_one_of_each(store)
    found = everything(store, now=after(1))
    finished = [each.seq for each in found if each.finished_at]
    assert store.history.archive([each.seq for each in found], prune=True, now=after(1)) == 2
    assert states(store, now=after(1)) == {"ready": 1, "scheduled": 1, "leased": 1}
    entry = LedgerEntry(after(1), "q", "archive", 2, min(finished), max(finished))
    assert store.history.ledger() == [entry]


def test_archiving_leaves_what_was_finished_again_after_it_was_copied(store: Store) -> None:
    put_queue(store)
    copied, again = done_message(store), dead_message(store)
    seqs = [record(store, each).seq for each in (copied, again)]
    store.history.redrive("q", now=after(5))
    (delivery,) = claim(store, now=after(6))
    assert settle(store, delivery, now=after(7)) is Settled.SETTLED
    assert store.history.archive(seqs, prune=True, before=after(5), now=after(8)) == 1
    assert ids(everything(store, now=after(8))) == [again]
    assert store.history.archive(seqs, before=after(7), now=after(8)) == 0
    assert store.history.archive(seqs, before=after(8), now=after(8)) == 1


def test_archiving_from_several_queues_leaves_a_ledger_entry_for_each(store: Store) -> None:
    for name in "ab":
        put_queue(store, name)
        done_message(store, queue=name)
    store.history.archive([each.seq for each in everything(store)], prune=True, now=after(1))
    assert sorted((entry.queue, entry.count) for entry in store.history.ledger()) == [("a", 1), ("b", 1)]
    assert [entry.queue for entry in store.history.ledger("b")] == ["b"]


def test_the_ledger_is_oldest_first(store: Store) -> None:
    put_queue(store)
    for number in range(3):
        push(store, *messages(number + 1), now=after(number))
        store.queues.purge("q", now=after(number))
    assert [(entry.at, entry.count) for entry in store.history.ledger()] == [
        (after(n), n + 1) for n in range(3)
    ]
    assert store.history.ledger("other") == []


# Amend: retry.


def test_an_amended_retry_makes_what_is_unfinished_or_dead_ready(store: Store) -> None:
    given = put_one_of_each(store)
    assert amend(store, RETRY, *given.values()) == 4
    assert states(store, now=after(1)) == {"ready": 4, "done": 1}
    for state in (State.DEAD, State.LEASED, State.READY, State.SCHEDULED):
        found = record(store, given[state], now=after(1))
        assert (found.visible_at, found.attempts, found.reason, found.finished_at) == (
            after(1),
            0,
            None,
            None,
        )
        assert (found.consumer, found.started_at) == (None, None)


def test_an_amended_retry_of_a_message_behind_its_head_leaves_it_there(store: Store) -> None:
    put_queue(store)
    push(store, message("head", group="g", delay=span(60)))
    behind = message("behind", group="g", delay=span(60))
    push(store, behind)
    assert amend(store, RETRY, behind.id) == 1
    assert states(store, now=after(1)) == {"ready": 1, "scheduled": 1}
    assert claim(store, 10, now=after(1)) == []


def test_an_amended_retry_of_a_dead_message_of_a_group_goes_behind_its_head(store: Store) -> None:
    put_queue(store)
    dead = dead_message(store, group="g")
    push(store, message("head", group="g"))
    assert amend(store, RETRY, dead) == 1
    (head,) = claim(store, 10, now=after(1))
    assert head.payload == "head"
    settle(store, head, now=after(1))
    assert ids(claim(store, 10, now=after(1))) == [dead]


# Amend: kill.


def test_an_amended_kill_buries_what_is_unfinished(store: Store) -> None:
    given = put_one_of_each(store)
    assert amend(store, KILL, *given.values()) == 3
    assert states(store, now=after(1)) == {"done": 1, "dead": 4}
    for state in (State.LEASED, State.READY, State.SCHEDULED):
        found = record(store, given[state], now=after(1))
        assert (found.reason, found.finished_at) == (Reason.KILLED, after(1))
        assert store.history.failures(found.id) == []


def test_an_amended_kill_goes_to_the_dead_letter_queue(store: Store) -> None:
    put_queue(store, "dead")
    put_queue(store, dead_letter="dead")
    said = message()
    push(store, said)
    assert amend(store, KILL, said.id) == 1
    found = record(store, said.id, now=after(1))
    assert (found.queue, found.source, found.reason) == ("dead", "q", Reason.KILLED)


def test_killing_a_head_gives_way_to_the_next_of_its_group(store: Store) -> None:
    put_queue(store)
    given = messages(3, group="g")
    push(store, *given)
    assert amend(store, KILL, given[0].id, given[1].id) == 2
    assert payloads(claim(store, 10, now=after(1))) == [2]


def test_a_dead_message_keeps_its_payload_also_with_retention_0_and_can_be_retried(store: Store) -> None:
    put_queue(store, retention=span(0))
    said = message("x")
    push(store, said)
    amend(store, KILL, said.id)
    assert record(store, said.id, now=after(1)).payload == "x"
    assert amend(store, RETRY, said.id) == 1
    assert payloads(claim(store, now=after(2))) == ["x"]


# Amend: move.


def test_an_amended_move_takes_what_is_unfinished_or_dead_to_another_queue(store: Store) -> None:
    given = put_one_of_each(store)
    put_queue(store, "other")
    assert amend(store, MOVE, *given.values(), to="other") == 4
    assert states(store, now=after(1)) == {"done": 1}
    for state in (State.DEAD, State.LEASED, State.READY):
        found = record(store, given[state], now=after(1))
        assert (found.queue, found.attempts, found.source, found.reason) == ("other", 0, None, None)
        assert (found.consumer, found.started_at, found.finished_at) == (None, None, None)


def test_a_moved_message_loses_its_holder_and_can_be_claimed_there(store: Store) -> None:
    put_queue(store)
    put_queue(store, "other")
    push(store, message())
    held = claim_one(store)
    amend(store, MOVE, held.id, to="other")
    assert settle(store, held, now=after(1)) is Settled.LOST
    delivery = claim_one(store, queue="other", now=after(1))
    assert (delivery.id, delivery.attempt, delivery.source) == (held.id, 1, None)


def test_a_moved_message_of_a_group_goes_behind_the_head_there(store: Store) -> None:
    put_queue(store)
    put_queue(store, "other")
    given = messages(2, group="g")
    push(store, *given)
    push(store, message("there", group="g"), queue="other")
    amend(store, MOVE, given[0].id, to="other")
    assert payloads(claim(store, 10, now=after(1))) == [1]
    assert payloads(claim(store, 10, queue="other", now=after(1))) == ["there"]


def test_a_move_needs_a_queue_that_exists(store: Store) -> None:
    put_queue(store)
    said = message()
    push(store, said)
    with pytest.raises(QueueNotFound):
        amend(store, MOVE, said.id, to="nowhere")
    assert record(store, said.id).queue == "q"


# Amend: drop.


def test_an_amended_drop_deletes_any_message_and_leaves_a_ledger_entry(store: Store) -> None:
    given = put_one_of_each(store)
    seqs = [each.seq for each in everything(store, now=after(1))]
    assert amend(store, DROP, *given.values()) == 5
    assert everything(store, now=after(1)) == []
    assert store.history.ledger() == [LedgerEntry(after(1), "q", "amend", 5, min(seqs), max(seqs))]


def test_dropping_a_head_gives_way_to_the_next_of_its_group(store: Store) -> None:
    put_queue(store)
    given = messages(3, group="g")
    push(store, *given)
    assert amend(store, DROP, given[0].id, given[1].id) == 2
    assert payloads(claim(store, 10, now=after(1))) == [2]


def test_a_dropped_id_may_be_used_again(store: Store) -> None:
    put_queue(store)
    said = message(1)
    push(store, said)
    settle(store, claim_one(store), Bury(error="x"))
    amend(store, DROP, said.id)
    assert store.history.failures(said.id) == []
    assert push(store, message(2, id=said.id), now=after(1)).seen == frozenset()


@pytest.mark.parametrize("amendment", list(Amendment))
def test_unknown_ids_are_not_counted(store: Store, amendment: Amendment) -> None:
    put_queue(store)
    assert amend(store, amendment, uuid4(), to="q") == 0
    assert amend(store, amendment, to="q") == 0
    assert store.history.ledger() == []
