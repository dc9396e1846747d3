"""What is measured of a system, step by step; each step begins with an empty queue and ends with one."""

from __future__ import annotations

import time

from benchmarks.peers.figures import percentile
from benchmarks.peers.plan import FEW
from benchmarks.peers.session import Session, Use, Worked

Figures = dict[str, float | None]
BELIEVED = 0.3
"""Seconds that a step must last before its rate is believed."""
FASTER = 1.5
"""A rate so many times that of a smaller step is still growing: a larger step may be faster again."""
PAUSE = 0.075
"""Seconds between the pushes to an idle system."""


def pilot(session: Session, guess: float = 0.0) -> float:
    """About how many a second it handles: ever larger steps, until one is long and not much faster.

    Where a rate is known already the first step is a quarter as long as one of that rate.
    """
    plan, before = session.plan, 0.0
    count = max(FEW, plan.scaled(guess) // 4)
    while True:
        pushed, _ = session.enqueue(count, plan.batch)
        rate, seconds = (worked := session.work(pushed)).rate, worked.span.seconds
        steady = seconds >= BELIEVED and rate < FASTER * before
        if steady or seconds >= plan.seconds or pushed < count or count >= plan.messages:
            return rate
        count, before = min(4 * count, plan.messages), rate


def whole(session: Session, guess: float = 0.0) -> Figures:
    """Everything that is measured of a system."""
    plan, rate = session.plan, pilot(session, guess)
    count, seconds = session.enqueue(plan.scaled(rate), 1)
    session.work(count)
    figures: Figures = {"enqueue, single": count / seconds, "round trips": session.roundtrip()}
    figures |= latencies(session, min(count / seconds, rate))
    return figures | bulk(session, rate)


def latencies(session: Session, rate: float) -> Figures:
    """How soon a handler begins, at idle and at half of what one caller and one worker can do."""
    plan = session.plan
    called, returned = session.latency(plan.paced, PAUSE)
    pushing = percentile([one - other for one, other in zip(called, returned, strict=True)], 0.5) / 1000
    half = min(rate, 1 / pushing) / 2
    loaded = session.latency(min(plan.messages, max(10, int(half * plan.seconds))), 1 / half)
    return spread("idle", called, returned) | spread("half load", *loaded) | {"half load": half}


def spread(load: str, called: list[float], returned: list[float]) -> Figures:
    """The middle and the worst hundredth of latencies, from the call of a push and from its return."""
    figures: Figures = {}
    for part, name in ((0.5, "p50"), (0.99, "p99")):
        figures[f"latency {load}, {name}"] = percentile(called, part)
        figures[f"latency {load} from return, {name}"] = percentile(returned, part)
    return figures


def bulk(session: Session, rate: float) -> Figures:
    """Many messages in batches, worked off, and what each of them cost."""
    plan, before = session.plan, session.use()
    count, seconds = session.enqueue(plan.scaled(rate), plan.batch)
    pushing = session.use().since(before)
    worked = session.work(count)
    pushed = count / seconds if session.has_batches else None
    figures: Figures = {"enqueue, batch": pushed, "work": worked.rate, "stop": worked.stop}
    return figures | costs(pushing, count, worked) | leftovers(session, worked)


def costs(pushing: Use, pushed: int, worked: Worked) -> Figures:
    """What a message costs from push to ack: CPU seconds for 10,000, and bytes written."""

    def each(one: float | None, other: float | None, factor: int = 1) -> float | None:
        if one is None or other is None or not worked.used_for:
            return None
        return (one / pushed + other / worked.used_for) * factor

    return {
        "client CPU": each(pushing.client, worked.use.client, 10_000),
        "server CPU": each(pushing.server, worked.use.server, 10_000),
        "bytes": each(pushing.written, worked.use.written),
    }


def leftovers(session: Session, worked: Worked) -> Figures:
    """What is there at the end: dead tuples, and memory in megabytes, what is shared counted once."""
    time.sleep(1.1 if session.place.pids else 0)  # PostgreSQL tells its statistics once a second
    memory = session.server_memory()
    return {
        "dead tuples": session.place.dead(),
        "client memory": worked.memory / 1e6,
        "server memory": None if memory is None else memory / 1e6,
    }
