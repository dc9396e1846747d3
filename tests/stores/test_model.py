"""Every store answers as the store in memory does, whatever it is told."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from rowmq.core.delivery import Receipt, Settlement, Want
from rowmq.core.history import Amendment, Schedule
from rowmq.core.message import Batch, Message
from rowmq.core.outcome import ACK, Ack, Bury, Reason, Release, Retry, State
from rowmq.core.queue import Archive, Guarantee, Rate
from rowmq.core.store import GRACE
from rowmq.core.where import Condition
from rowmq.testing.build import everything, span
from tests.stores.twins import Twin, Twins

if TYPE_CHECKING:
    from datetime import datetime

    from rowmq.core.outcome import Outcome
    from tests.stores.places import Place

QUEUES = st.sampled_from("abc")
TOPICS = st.sampled_from("tu")
STEPS = st.sampled_from([0.000001, 1, 1, 2, 5, 10, 30, 31, 90, 400, 4000, 700_000]).map(span)
SPANS = st.sampled_from([0, 1, 5, 10, 40]).map(span)
LEASES = st.sampled_from([1, 5, 60]).map(span)
RATES = st.builds(Rate, st.sampled_from([1, 3, 7]), st.sampled_from([0.001, 1, 7, 100]).map(span))
NAMES = st.sampled_from(["n1", "n2", "n3"])
CONSUMERS = st.sampled_from(["w1", "w2", "w3"])
PLACES = st.integers(0, 999)
METADATA: st.SearchStrategy[dict[str, str]] = st.sampled_from(
    [{}, {"c": "red"}, {"c": "blue", "it's": '"x"'}, {"c": ""}]
)
CONDITIONS: st.SearchStrategy[tuple[Condition, ...]] = st.sampled_from(
    [
        (),
        (),
        (Condition("c", "=", ("red",)),),
        (Condition("c", "!=", ("red",)),),
        (Condition("c", "in", ("red", "")),),
        (Condition("it's", "exists"),),
    ]
)
OUTCOMES: st.SearchStrategy[Outcome] = st.one_of(
    st.just(ACK),
    st.builds(Ack, st.sampled_from([b"1", b'"two"'])),
    st.builds(Retry, delay=SPANS, error=st.sampled_from([None, "boom"])),
    st.builds(Release, delay=SPANS),
    st.builds(Bury, reason=st.sampled_from(Reason), error=st.sampled_from([None, "dead"])),
)
CHANGES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.fixed_dictionaries({"max_attempts": st.sampled_from([None, 1, 2, 5])}),
    st.fixed_dictionaries({"lease": LEASES}),
    st.fixed_dictionaries({"delay": SPANS}),
    st.fixed_dictionaries({"delivery": st.sampled_from(Guarantee)}),
    st.fixed_dictionaries({"fifo": st.booleans()}),
    st.fixed_dictionaries({"retention": st.sampled_from([None, timedelta(0), span(60)])}),
    st.fixed_dictionaries({"max_age": st.sampled_from([None, span(20), span(300)])}),
    st.fixed_dictionaries({"dead_letter": st.sampled_from([None, "a", "b", "c", "nowhere"])}),
    st.fixed_dictionaries({"paused": st.booleans()}),
    st.fixed_dictionaries({"max_length": st.sampled_from([None, 2, 5])}),
    st.fixed_dictionaries({"archive": st.sampled_from(Archive)}),
    st.fixed_dictionaries({"rate": st.none() | RATES}),
    st.just({"lease": timedelta(0)}),
)


@st.composite
def wishes(draw: st.DrawFn) -> dict[str, Any]:
    """Draw what a message may wish; times are counted from the push."""
    chosen = {
        "metadata": draw(METADATA),
        "priority": draw(st.sampled_from([0, 0, 0, 5, 9])),
        "key": draw(st.sampled_from([None, None, None, "k1", "k2"])),
        "window": draw(st.sampled_from([10, 300]).map(span)),
        "group": draw(st.sampled_from([None, None, "g", "g", "h"])),
        "deadline": draw(st.sampled_from([None, None, -5, 5, 40])),
    }
    time = draw(st.sampled_from(["none", "none", "none", "delay", "at"]))
    if time != "none":
        chosen[time] = draw(SPANS) if time == "delay" else draw(st.sampled_from([-10, 0, 20]))
    return chosen


@st.composite
def wants(draw: st.DrawFn) -> Want:
    """Draw a want, mostly a plain one."""
    return Want(
        limit=draw(st.integers(1, 4)),
        lease=draw(st.none() | LEASES),
        consumer=draw(st.none() | CONSUMERS),
        where=draw(CONDITIONS),
        max_age=draw(st.sampled_from([None, None, None, span(20)])),
        per_group=draw(st.sampled_from([1, 1, 3])),
        name=draw(st.none() | NAMES),
        share=draw(st.booleans()),
    )


class Machine(RuleBasedStateMachine):
    """Tell two stores the same and compare every answer."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.twins = Twins(place)
        self.said: list[tuple[str, Message]] = []

    @property
    def now(self) -> datetime:
        return self.twins.now

    @initialize(changes=st.lists(CHANGES, max_size=2))
    def create(self, changes: list[dict[str, Any]]) -> None:
        for name in "abc":
            self.put(name, {})
        for change in changes:
            self.put("a", change)

    def teardown(self) -> None:
        try:
            if self.twins.agreed:
                self.compare_all()
        finally:
            self.twins.close()

    # Time.

    @rule(step=STEPS)
    def advance(self, step: timedelta) -> None:
        self.twins.now += step

    # Push.

    @rule(queue=QUEUES, given=st.lists(wishes(), min_size=1, max_size=4))
    def push(self, queue: str, given: list[dict[str, Any]]) -> None:
        self.push_batches(Batch(queue, [self.message(queue, each) for each in given]))

    @rule(queues=st.lists(QUEUES, min_size=2, max_size=3), given=wishes())
    def push_several(self, queues: list[str], given: dict[str, Any]) -> None:
        self.push_batches(*(Batch(queue, [self.message(queue, given)]) for queue in queues))

    @precondition(lambda self: self.said)
    @rule(place=PLACES, given=wishes(), change=st.sampled_from(["none", "none", "body", "metadata", "queue"]))
    def push_again(self, place: int, given: dict[str, Any], change: str) -> None:
        queue, earlier = self.said[place % len(self.said)]
        again = replace(earlier, body=b'"other"') if change == "body" else earlier
        again = replace(again, metadata={"other": "1"}) if change == "metadata" else again
        batch = [self.message(queue, given), again, again]
        self.push_batches(Batch("c" if change == "queue" else queue, batch))

    def push_batches(self, *batches: Batch) -> None:
        self.twins.agree(lambda twin: twin.pushed(twin.store.push(batches, now=self.now)), adds=True)

    def message(self, queue: str, given: dict[str, Any]) -> Message:
        """Make a message of wishes, with the next id."""
        times = {
            name: self.now + span(given[name]) for name in ("at", "deadline") if given.get(name) is not None
        }
        body = str(len(self.said)).encode()
        made = Message(**{**given, "id": uuid5(UUID(int=0), body.decode()), "body": body, **times})
        self.said.append((queue, made))
        return made

    # Claim.

    @rule(queue=QUEUES, given=st.lists(wants(), min_size=1, max_size=3), registered=st.booleans())
    def claim(self, queue: str, given: list[Want], registered: bool) -> None:
        # A share depends on the seqs, so it can be compared only where these are the same.
        share = registered and self.twins.aligned()
        chosen = given if share else [replace(want, consumer=want.consumer and "nobody") for want in given]
        self.twins.agree(lambda twin: self._claim(twin, queue, chosen))

    @rule(queue=QUEUES, limit=st.integers(1, 5))
    def claim_plain(self, queue: str, limit: int) -> None:
        self.twins.agree(lambda twin: self._claim(twin, queue, [Want(limit=limit)]))

    @precondition(lambda self: self.said)
    @rule(queue=QUEUES, place=PLACES)
    def claim_upto(self, queue: str, place: int) -> None:
        _, last = self.said[place % len(self.said)]
        self.twins.agree(
            lambda twin: self._claim(twin, queue, [Want(limit=9, upto=twin.seqs.get(last.id, 0))])
        )

    def _claim(self, twin: Twin, queue: str, given: list[Want]) -> list[object]:
        answers = twin.store.claim(queue, given, now=self.now)
        return [twin.named(want.name, answer) for want, answer in zip(given, answers, strict=True)]

    # Extend, settle, adopt.

    @precondition(lambda self: self.twins.model.receipts)
    @rule(places=st.lists(PLACES, min_size=1, max_size=3), lease=LEASES, recent=st.booleans())
    def extend(self, places: list[int], lease: timedelta, recent: bool) -> None:
        self.twins.agree(
            lambda twin: twin.store.extend(
                [self._receipt(twin, place, recent) for place in places], lease, now=self.now
            )
        )

    @precondition(lambda self: self.twins.model.receipts)
    @rule(given=st.lists(st.tuples(PLACES, OUTCOMES), min_size=1, max_size=4), recent=st.booleans())
    def settle(self, given: list[tuple[int, Outcome]], recent: bool) -> None:
        self.twins.agree(
            lambda twin: twin.store.settle(
                [Settlement(self._receipt(twin, place, recent), outcome) for place, outcome in given],
                now=self.now,
            )
        )

    def _receipt(self, twin: Twin, place: int, recent: bool) -> Receipt:
        """Choose any receipt ever handed out, or one of the last few."""
        among = twin.receipts[-4:] if recent else twin.receipts
        return among[place % len(among)]

    @precondition(lambda self: self.twins.model.claims)
    @rule(name=NAMES, outcome=OUTCOMES)
    def settle_claim(self, name: str, outcome: Outcome) -> None:
        if name in self.twins.model.claims:
            self.twins.agree(
                lambda twin: twin.store.settle([Settlement(twin.claims[name], outcome)], now=self.now)
            )

    @precondition(lambda self: self.twins.model.claims)
    @rule(name=NAMES, lease=LEASES)
    def extend_claim(self, name: str, lease: timedelta) -> None:
        if name in self.twins.model.claims:
            self.twins.agree(lambda twin: twin.store.extend([twin.claims[name]], lease, now=self.now))

    @rule(name=NAMES, lease=st.none() | LEASES)
    def adopt(self, name: str, lease: timedelta | None) -> None:
        self.twins.agree(lambda twin: twin.adopted(twin.store.adopt(name, lease=lease, now=self.now)))

    # Queues.

    @rule(queue=QUEUES, change=CHANGES)
    def put(self, queue: str, change: dict[str, Any]) -> None:
        self.twins.agree(lambda twin: twin.store.queues.put(queue, change, now=self.now))

    @rule(queue=QUEUES, state=st.none() | st.sampled_from(State), age=st.none() | SPANS)
    def purge(self, queue: str, state: State | None, age: timedelta | None) -> None:
        before = None if age is None else self.now - age
        self.twins.agree(
            lambda twin: twin.store.queues.purge(queue, state=state, before=before, now=self.now)
        )

    @rule(queue=QUEUES, sure=st.integers(0, 3))
    def drop(self, queue: str, sure: int) -> None:
        if sure == 0:
            self.twins.agree(lambda twin: twin.store.queues.drop(queue, now=self.now))

    # Topics.

    @rule(topic=TOPICS, queue=QUEUES)
    def bind(self, topic: str, queue: str) -> None:
        self.twins.agree(
            lambda twin: self._learning(twin, twin.store.topics.bind(topic, queue, now=self.now)), adds=True
        )

    @rule(topic=TOPICS, queue=QUEUES)
    def unbind(self, topic: str, queue: str) -> None:
        self.twins.agree(lambda twin: twin.store.topics.unbind(topic, queue, now=self.now))

    @rule(topic=TOPICS, given=st.lists(wishes(), min_size=1, max_size=3))
    def publish(self, topic: str, given: list[dict[str, Any]]) -> None:
        made = [self.message(topic, each) for each in given]
        self.twins.agree(
            lambda twin: self._learning(twin, twin.store.topics.publish(topic, made, now=self.now)), adds=True
        )

    def _learning(self, twin: Twin, answer: object) -> object:
        twin.learn(self.now)
        return answer

    # Consumers and schedules.

    @rule(queue=QUEUES, consumer=CONSUMERS, ttl=st.sampled_from([5, 60]).map(span))
    def beat(self, queue: str, consumer: str, ttl: timedelta) -> None:
        self.twins.agree(lambda twin: twin.store.consumers.beat(queue, consumer, ttl, now=self.now))

    @rule(queue=QUEUES, consumer=CONSUMERS)
    def retire(self, queue: str, consumer: str) -> None:
        self.twins.agree(lambda twin: twin.store.consumers.retire(queue, consumer))

    @rule(role=st.sampled_from("rs"), consumer=CONSUMERS, ttl=st.sampled_from([5, 60]).map(span))
    def lead(self, role: str, consumer: str, ttl: timedelta) -> None:
        self.twins.agree(lambda twin: twin.store.consumers.lead(role, consumer, ttl, now=self.now))

    @rule(queue=QUEUES, given=wishes(), paused=st.sampled_from([False, False, True]))
    def schedule(self, queue: str, given: dict[str, Any], paused: bool) -> None:
        made = Schedule(
            name="s",
            queue=queue,
            spec="x",
            message=self.message(queue, given),
            next_at=self.now,
            paused=paused,
        )
        self.twins.agree(lambda twin: twin.store.schedules.put(made, now=self.now))

    @rule()
    def fire(self) -> None:
        for due in self.twins.memory.schedules.list(due=self.now):
            following = self.now + span(10)
            for _ in range(2):
                self.twins.agree(
                    lambda twin: self._learning(
                        twin,
                        twin.store.schedules.fire(due.name, due.next_at, following, now=self.now),  # noqa: B023 called at once
                    ),
                    adds=True,
                )

    # History.

    @rule(queue=QUEUES, to=st.none() | QUEUES, limit=st.none() | st.integers(1, 2))
    def redrive(self, queue: str, to: str | None, limit: int | None) -> None:
        self.twins.agree(lambda twin: twin.store.history.redrive(queue, to=to, limit=limit, now=self.now))

    @precondition(lambda self: self.said)
    @rule(places=st.lists(PLACES, min_size=1, max_size=3), amendment=st.sampled_from(Amendment), to=QUEUES)
    def amend(self, places: list[int], amendment: Amendment, to: str) -> None:
        known = list(self.twins.model.seqs) or [self.said[0][1].id]
        ids = [known[place % len(known)] for place in places]
        target = to if amendment is Amendment.MOVE else None
        self.twins.agree(lambda twin: twin.store.history.amend(ids, amendment, to=target, now=self.now))

    @precondition(lambda self: self.twins.model.seqs)
    @rule(places=st.lists(PLACES, min_size=1, max_size=3), prune=st.booleans())
    def archive(self, places: list[int], prune: bool) -> None:
        known = list(self.twins.model.seqs)
        ids = [known[place % len(known)] for place in places]
        self.twins.agree(
            lambda twin: twin.store.history.archive(
                [twin.seqs[id_] for id_ in ids], prune=prune, now=self.now
            )
        )

    @rule()
    def sweep(self) -> None:
        self.twins.agree(lambda twin: twin.store.history.sweep(now=self.now)[:2])

    @rule(queue=st.none() | QUEUES, state=st.none() | st.sampled_from(State), where=CONDITIONS)
    def find(self, queue: str | None, state: State | None, where: tuple[Condition, ...]) -> None:
        self.twins.agree(
            lambda twin: [
                found._replace(seq=0)
                for found in everything(twin.store, queue, state=state, where=where, now=self.now)
            ]
        )

    # What must be the same at any moment, and at the end.

    @invariant()
    def counts_are_the_same(self) -> None:
        self.twins.agree(
            lambda twin: [
                twin.store.queues.stats(queue.name, now=self.now) for queue in twin.store.queues.list()
            ]
        )

    def compare_all(self) -> None:
        self.find(None, None, ())
        self.twins.agree(lambda twin: twin.store.queues.list())
        self.twins.agree(lambda twin: twin.store.topics.bindings())
        self.twins.agree(lambda twin: twin.store.consumers.list(now=self.now))
        self.twins.agree(lambda twin: twin.store.schedules.list())
        ids = list(self.twins.model.seqs)
        self.twins.agree(lambda twin: [twin.store.history.failures(id_) for id_ in ids])
        self.advance(GRACE + span(1))
        self.sweep()
        self.twins.agree(self._ledger)
        self.twins.agree(self._late_backlogs)

    def _ledger(self, twin: Twin) -> list[tuple[object, ...]]:
        """Read the ledger, with ids instead of seqs; one call's entries have no order among themselves."""
        return sorted(
            (
                entry.at,
                entry.queue,
                entry.action,
                entry.count,
                str(twin.ids.get(entry.first_seq)),
                str(twin.ids.get(entry.last_seq)),
            )
            for entry in twin.store.history.ledger()
            if entry.action != "topic"
        )

    def _late_backlogs(self, twin: Twin) -> Counter[str]:
        """Count what was deleted of each topic's backlog; who comes by first to do that is chance."""
        late: Counter[str] = Counter()
        for entry in twin.store.history.ledger():
            late[entry.queue] += entry.count if entry.action == "topic" else 0
        return late


def run(place: Place, *, examples: int, steps: int, chance: bool = False) -> None:
    """Try that many stories of that many steps, the same ones each time or by chance."""
    run_state_machine_as_test(
        lambda: Machine(place),  # type: ignore[arg-type] # any maker of machines will do
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=not chance,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
        ),
    )


# A failure is made as short as possible before it is shown, which takes its time.
@pytest.mark.timeout(600)
def test_a_store_answers_as_the_model_does(place: Place) -> None:
    run(place, examples=30, steps=30)


@pytest.mark.soak
def test_a_store_answers_as_the_model_does_for_a_long_time(place: Place) -> None:
    run(place, examples=3000, steps=60, chance=True)
