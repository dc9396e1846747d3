"""Named claims: found again after a crash, and taken over from a run that may still be alive."""

import pytest

from rowmq.core.delivery import Claim, Want
from rowmq.core.outcome import ACK, Bury, Outcome, Release, Retry, Settled
from rowmq.core.store import CLAIMS_KEPT, Store
from rowmq.testing.build import (
    T0,
    adopt,
    after,
    claim,
    claim_one,
    extend,
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

OUTCOMES: list[Outcome] = [ACK, Retry(), Release(), Bury()]


def test_a_name_never_claims_twice_but_gets_what_is_left(store: Store) -> None:
    put_queue(store)
    push(store, *messages(5))
    first = claim(store, 3, name="run")
    assert claim(store, 5, name="run", now=after(1)) == first
    settle(store, first[1], now=after(1))
    assert payloads(claim(store, 5, name="run", now=after(2))) == [0, 2]
    assert states(store, now=after(2)) == {"ready": 2, "leased": 2, "done": 1}


def test_an_empty_claim_is_remembered_too(store: Store) -> None:
    put_queue(store)
    assert claim(store, 3, name="run") == []
    push(store, *messages(3), now=after(1))
    assert claim(store, 3, name="run", now=after(1)) == []
    assert payloads(claim(store, 3, name="another", now=after(1))) == [0, 1, 2]


def test_an_empty_claim_that_may_ask_again_leaves_its_name_free(store: Store) -> None:
    put_queue(store)
    assert claim(store, 3, name="run", again=True) == []
    assert store.adopt("run", now=T0) is None
    push(store, *messages(3), now=after(1))
    first = claim(store, 2, name="run", again=True, now=after(1))
    assert payloads(first) == [0, 1]
    assert claim(store, 2, name="run", again=True, now=after(2)) == first
    assert settle(store, Claim("run", first[0].token), now=after(2)) is Settled.SETTLED
    assert claim(store, 2, name="run", again=True, now=after(3)) == []


def test_a_name_gets_nothing_that_went_on_without_it(store: Store) -> None:
    put_queue(store)
    push(store, *messages(3))
    claim(store, 3, name="run")
    other = claim_one(store, now=after(30))
    left = claim(store, 3, name="run", now=after(30))
    assert payloads(left) == [1, 2]
    assert other.payload == 0


def test_a_name_still_gets_what_nobody_has_claimed_since_its_lease_ended(store: Store) -> None:
    put_queue(store)
    push(store, message())
    claim(store, name="run")
    (again,) = claim(store, name="run", now=after(100))
    assert (again.attempt, again.receives, again.lease_until) == (1, 1, after(30))


def test_names_in_one_call_are_claims_of_their_own(store: Store) -> None:
    put_queue(store)
    push(store, *messages(4))
    wants = [Want(limit=2, name="a"), Want(limit=2, name="b"), Want(limit=2, name="a")]
    first, second, third = store.claim("q", wants, now=T0)
    assert [payloads(each) for each in (first, second, third)] == [[0, 1], [2, 3], [0, 1]]


def test_a_name_gets_what_it_claimed_whichever_queue_is_asked(store: Store) -> None:
    put_queue(store, max_attempts=2)
    put_queue(store, "other", max_attempts=9)
    push(store, message("here"))
    push(store, message("there"), queue="other")
    first = claim(store, name="run")
    assert claim(store, queue="other", name="run") == first
    assert states(store, "other") == {"ready": 1}


def test_deliveries_of_a_named_claim_may_be_settled_one_by_one(store: Store) -> None:
    put_queue(store)
    push(store, *messages(2))
    first, second = claim(store, 2, name="run")
    assert settle(store, first) is Settled.SETTLED
    assert settle(store, second, Retry()) is Settled.SETTLED
    assert claim(store, 2, name="run") == []


def test_an_unknown_name_cannot_be_adopted(store: Store) -> None:
    assert store.adopt("nobody", now=T0) is None


def test_adopting_gives_a_new_token_and_what_is_left(store: Store) -> None:
    put_queue(store)
    push(store, *messages(3))
    first = claim(store, 3, name="run")
    settle(store, first[0])
    adopted = adopt(store, "run", now=after(10))
    assert adopted.claim.name == "run"
    assert adopted.claim.token != first[0].receipt.token
    assert adopted.runs == 2
    assert ids(adopted.deliveries) == ids(first[1:])
    assert {d.receipt.token for d in adopted.deliveries} == {adopted.claim.token}
    assert [(d.attempt, d.receives, d.lease_until) for d in adopted.deliveries] == [(1, 1, after(40))] * 2


def test_adopting_counts_the_runs(store: Store) -> None:
    put_queue(store)
    claim(store, name="run")
    assert [adopt(store, "run", now=after(n)).runs for n in range(3)] == [2, 3, 4]


def test_adopting_renews_the_lease_for_as_long_as_is_asked(store: Store) -> None:
    put_queue(store)
    push(store, message())
    claim(store, name="run")
    (delivery,) = adopt(store, "run", lease=span(60), now=after(40)).deliveries
    assert delivery.lease_until == after(100)
    assert claim(store, now=after(99)) == []


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_former_run_is_fenced_off_by_an_adoption(store: Store, outcome: Outcome) -> None:
    put_queue(store)
    push(store, message())
    former = claim_one(store, name="run")
    adopted = adopt(store, "run", now=after(1))
    assert settle(store, former, outcome, now=after(2)) is Settled.LOST
    assert settle(store, Claim("run", former.receipt.token), outcome, now=after(2)) is Settled.LOST
    assert extend(store, former, span(60), now=after(2)) is None
    assert extend(store, Claim("run", former.receipt.token), span(60), now=after(2)) is None
    assert settle(store, adopted.deliveries[0], outcome, now=after(3)) is Settled.SETTLED


def test_a_name_claimed_again_after_an_adoption_gets_the_new_token(store: Store) -> None:
    put_queue(store)
    push(store, message())
    claim(store, name="run")
    adopted = adopt(store, "run", now=after(1))
    assert claim(store, name="run", now=after(2)) == adopted.deliveries


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [(ACK, {"done": 3}), (Retry(), {"ready": 3}), (Release(), {"ready": 3}), (Bury(), {"dead": 3})],
)
def test_a_whole_claim_is_settled_at_once(store: Store, outcome: Outcome, expected: dict[str, int]) -> None:
    put_queue(store)
    push(store, *messages(3))
    held = claim(store, 3, name="run")
    assert settle(store, Claim("run", held[0].receipt.token), outcome, now=after(1)) is Settled.SETTLED
    assert states(store, now=after(1)) == expected


def test_settling_a_whole_claim_settles_what_is_left_of_it(store: Store) -> None:
    put_queue(store)
    push(store, *messages(3))
    first, second, third = claim(store, 3, name="run")
    settle(store, first, Bury())
    settle(store, second, Retry(delay=span(60)))
    assert settle(store, Claim("run", third.receipt.token)) is Settled.SETTLED
    assert states(store) == {"scheduled": 1, "done": 1, "dead": 1}


def test_an_ack_of_a_whole_claim_repeated_is_repeated(store: Store) -> None:
    put_queue(store)
    push(store, *messages(2))
    run = Claim("run", claim(store, 2, name="run")[0].receipt.token)
    assert settle(store, run) is Settled.SETTLED
    assert settle(store, run, now=after(5)) is Settled.REPEATED


def test_an_ack_of_a_whole_claim_that_went_on_without_it_is_lost(store: Store) -> None:
    put_queue(store)
    push(store, *messages(2))
    run = Claim("run", claim(store, 2, name="run")[0].receipt.token)
    settle(store, run, Retry())
    assert settle(store, run) is Settled.LOST


def test_an_empty_claim_is_settled_as_often_as_one_likes(store: Store) -> None:
    put_queue(store)
    claim(store, name="run")
    token = adopt(store, "run").claim.token
    assert settle(store, Claim("run", token)) is Settled.SETTLED
    assert settle(store, Claim("run", token)) is Settled.SETTLED


def test_an_unknown_claim_settles_and_extends_nothing(store: Store) -> None:
    assert settle(store, Claim("nobody", b"0" * 16)) is Settled.LOST
    assert extend(store, Claim("nobody", b"0" * 16), span(60)) is None


def test_a_whole_claim_is_extended_at_once(store: Store) -> None:
    put_queue(store)
    push(store, *messages(3))
    held = claim(store, 3, name="run")
    settle(store, held[0])
    run = Claim("run", held[0].receipt.token)
    assert extend(store, run, span(60), now=after(10)) == after(70)
    assert claim(store, 3, now=after(69)) == []
    assert [record(store, each.id, now=after(10)).visible_at for each in held[1:]] == [after(70)] * 2
    assert payloads(claim(store, 3, now=after(70))) == [1, 2]


def test_extending_a_whole_claim_ends_no_lease_after_a_deadline(store: Store) -> None:
    put_queue(store)
    push(store, message(deadline=after(40)), message())
    held = claim(store, 2, name="run")
    assert extend(store, Claim("run", held[0].receipt.token), span(60), now=after(10)) == after(70)
    assert [record(store, each.id, now=after(10)).visible_at for each in held] == [after(40), after(70)]


def test_a_named_claim_is_forgotten_by_a_sweep_after_its_time(store: Store) -> None:
    put_queue(store)
    claim(store, name="run")
    store.history.sweep(now=T0 + CLAIMS_KEPT - span(1))
    assert adopt(store, "run", now=T0 + CLAIMS_KEPT - span(1)).runs == 2
    store.history.sweep(now=T0 + CLAIMS_KEPT + span(1))
    assert store.adopt("run", now=T0 + CLAIMS_KEPT + span(1)) is None
