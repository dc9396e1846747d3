"""What is measured of a system, step by step."""

from __future__ import annotations

import time

from benchmarks.peers.adapter import Adapter
from benchmarks.peers.catalogue import System
from benchmarks.peers.figures import percentile
from benchmarks.peers.place import Place
from benchmarks.peers.session import STUCK, Plan, Session, Use, Worked

Figures = dict[str, float | None]
WARM = 200
"""Messages that pass through before anything is timed."""


def whole(session: Session) -> Figures:
    """Everything that is measured of a system at one size."""
    plan, figures = session.plan, Figures()
    session.enqueue(WARM, plan.batch)
    session.work(WARM)
    count, seconds = session.enqueue(plan.messages, 1)
    figures["enqueue, single"] = count / seconds
    alone = session.work(count, seconds=3 * plan.seconds)
    if left := session.control.ask("left")["left"]:  # what follows needs an empty queue
        session.work(left, seconds=STUCK)
    figures["round trips"] = session.roundtrip()
    figures |= latencies(session, min(count / seconds, alone.rate))
    return figures | bulk(session, expected=alone.rate)


def latencies(session: Session, rate: float) -> Figures:
    """How soon a handler begins, at idle and at half of what one caller and one worker can do."""
    plan = session.plan
    called, returned = session.latency(plan.paced, 0.075)
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


def bulk(session: Session, expected: float) -> Figures:
    """Many messages in batches, worked off, and what each of them cost."""
    plan = session.plan
    wanted = int(min(plan.messages, max(2 * WARM, expected * plan.seconds * 2)))
    before = session.use()
    count, seconds = session.enqueue(wanted, plan.batch)
    pushing = session.use().since(before)
    worked = session.work(count)
    rate = count / seconds if session.has_batches else None
    figures: Figures = {"enqueue, batch": rate, "work": worked.rate}
    return figures | costs(pushing, count, worked) | leftovers(session.place, worked)


def costs(pushing: Use, pushed: int, worked: Worked) -> Figures:
    """What a message costs from push to ack: CPU seconds for 10,000, and bytes written."""
    each = [
        one / pushed + other / max(worked.messages, 1) for one, other in zip(pushing, worked.use, strict=True)
    ]
    return {"client CPU": each[0] * 10_000, "server CPU": each[1] * 10_000, "bytes": each[2]}


def leftovers(place: Place, worked: Worked) -> Figures:
    """What is there at the end: dead tuples, and memory in megabytes."""
    time.sleep(1.1 if place.pids else 0)  # PostgreSQL tells its statistics once a second
    memory = place.memory()
    return {
        "dead tuples": place.dead(),
        "client memory": worked.memory / 1e6,
        "server memory": memory / 1e6 if memory else None,
    }


def limits(system: System, place: Place, plan: Plan) -> Figures:
    """The bare loop's figures, in batches and one by one."""
    with Adapter(system) as bare:
        bare.ask("open", url=place.url, make=True)
        few = max(50, min(plan.messages // 50, 500))
        many = {"messages": plan.messages, "batch": plan.batch, "size": plan.size}
        batch = bare.ask("limit", **many)
        single = bare.ask("limit", messages=few, batch=1, size=plan.size)
    return {
        "enqueue, batch": plan.messages / batch["push"],
        "work": plan.messages / (batch["claim"] + batch["settle"]),
        "enqueue, single": few / single["push"],
        "round trips": few / sum(single.values()),
    }
