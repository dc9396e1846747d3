"""Adapters in their processes: RowMQ's on every store, the bare loop's, the SQS client's with our server."""

import sys
import time
from pathlib import Path
from typing import Any

import pytest

import rowmq
from benchmarks.peers import adapter as adapters
from benchmarks.peers.adapter import Adapter, AdapterFailed, Refused
from benchmarks.peers.catalogue import BARE, OURS, System
from benchmarks.peers.limits import limits
from benchmarks.peers.measure import bulk, whole
from benchmarks.peers.place import Place, Places
from benchmarks.peers.plan import Plan
from benchmarks.peers.scenes import Crowd, stage
from benchmarks.peers.session import LOOK, MOMENT, Session

OWN = System("sqlite", OURS, "rowmq_adapter.py", arguments=("sqlite",))
LIMIT = System("sqlite", BARE, "bare_adapter.py")
PLAN = Plan(messages=40, seconds=0.3, paced=3, batch=20)


def test_an_adapter_is_measured_from_push_to_ack(tmp_path: Path) -> None:
    with Session(OWN, Place(str(tmp_path)), PLAN) as session:
        assert session.enqueue(40, 20)[0] == 40
        assert session.control.ask("left") == {"left": 40}
        worked = session.work(40)
        assert 0 < worked.span.messages <= 40
        assert (session.workers[0].done, session.control.ask("left")) == (40, {"left": 0})
        assert worked.memory > 1e6
        assert worked.use.server is None
        called, returned = session.latency(5, 0.01)
        assert len(called) == 5
        assert all(one > other for one, other in zip(called, returned, strict=True))
        assert session.roundtrip() > 0
        session.check()


def test_everything_that_is_measured_has_a_figure_and_a_limit(tmp_path: Path) -> None:
    with Session(OWN, Place(str(tmp_path)), PLAN) as session:
        found = whole(session)
        without = {name for name, value in found.items() if value is None}
        assert without <= {"server CPU", "server memory", "dead tuples", "client CPU", "bytes"}
        assert {"enqueue, single", "enqueue, batch", "work", "round trips", "half load", "stop"} <= set(found)
        assert session.control.ask("left") == {"left": 0}
        assert "kept: 7 days" in session.said["settings"]
        assert "SQLite" in session.said["runs on"]
    limited = limits(LIMIT, Place(str(tmp_path)), PLAN)
    assert set(found) - set(limited) == {"client memory", "stop"}
    known = {name: value for name, value in limited.items() if value is not None}
    assert set(limited) - set(known) == {"server CPU", "server memory", "dead tuples"}
    assert min(known.values()) > 0
    assert known["bytes"] > PLAN.size
    for load in ("idle", "half load"):
        assert known[f"latency {load}, p50"] > known[f"latency {load} from return, p50"]


def test_what_was_handled_and_is_not_finished_fails_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.peers.session.LATE", 0.0)
    with Session(OWN, Place(str(tmp_path)), PLAN) as session:
        session.enqueue(5, 5)
        session.check()
        session.pushed -= 2  # as if two of those that are left had been handled
        with pytest.raises(AdapterFailed, match="handled but not finished 2 messages"):
            session.check()


def test_the_clock_runs_on_until_what_was_handled_is_acked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Session(OWN, Place(str(tmp_path)), PLAN) as session:
        session.enqueue(40, 20)
        ask, late = session.control.ask, iter([{"left": 7}, {"left": 3}])

        def asked(action: str, **given: Any) -> dict[str, Any]:
            behind = next(late, None) if action == "left" else None
            return behind or ask(action, **given)

        monkeypatch.setattr(session.control, "ask", asked)
        began = time.monotonic()
        worked = session.work(40)
        assert MOMENT + 2 * LOOK < worked.span.seconds < time.monotonic() - began


def test_a_brief_bare_loop_has_nothing_that_goes_message_by_message(tmp_path: Path) -> None:
    found = limits(LIMIT, Place(str(tmp_path)), PLAN, brief=True)
    assert {"work", "client CPU", "bytes"} < set(found)
    assert not {"round trips", "latency idle, p50"} & set(found)


def test_scenes_are_as_full_as_they_were_asked_to_be() -> None:
    crowd = Crowd(waiting=30, finished=50, held=0.1, workers=(1, 2))
    with stage(OWN, Places("sqlite", None), PLAN, crowd) as made:
        both = made.scene("both")
        assert both.crowd == {"finished": 50, "waiting": 30}
        assert both.work() > 0
        handled = both.session.workers[0].done
        assert both.session.control.ask("left") == {"left": both.session.pushed - handled}
        crew = made.scene("2 workers")
        assert len(crew.session.workers) == 2
        assert crew.work() > 0
        held = made.scene("held")
        held.age(crowd.held)
        assert held.crowd == {"held": crowd.held}
        assert held.work() > 0
        assert made.empty.work() > 0


def test_an_adapter_says_what_it_does_not_offer_and_what_went_wrong(tmp_path: Path) -> None:
    with Adapter(OWN) as adapter:
        with pytest.raises(Refused, match="only SQS"):
            adapter.ask("cycle", count=1, seconds=1, size=1, waiting=0, fifo=False)
        with pytest.raises(AdapterFailed, match="no-such-folder"):
            adapter.ask("open", url=str(tmp_path / "no-such-folder"), make=True)


def test_what_a_system_prints_among_answers_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "input(); print('hello'); print(3); print('{\"a\": 1}', flush=True); input(); exit('bye')"
    monkeypatch.setattr(adapters, "command", lambda _: [sys.executable, "-c", said])
    with Adapter(OWN) as adapter:
        assert adapter.ask("anything") == {"a": 1}
        with pytest.raises(AdapterFailed, match=r"it has ended\s+bye\s+hello"):
            adapter.ask("more")


def test_an_sqs_cycle_counts_what_was_deleted_and_the_server_is_not_the_client(tmp_path: Path) -> None:
    system = System("sqs", OURS, "sqs_adapter.py", arguments=("rowmq",))
    with Session(system, Place(str(tmp_path)), PLAN) as session:
        asked = {"count": 20, "seconds": 10, "size": 50}
        assert session.control.ask("cycle", waiting=0, fifo=False, **asked)["count"] == 20
        assert session.control.ask("left") == {"left": 0}
        found = session.control.ask("cycle", waiting=30, fifo=True, **asked)
        assert (found["count"], found["waiting"]) == (20, 30)
        assert session.control.ask("left") == {"left": 30}
        used = session.use()
        assert used.server is not None
        assert used.server > 0
        assert (session.server_memory() or 0) > 1e6


@pytest.fixture(params=["postgres", "mysql", "redis"])
def place(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param, request.getfixturevalue(f"{request.param}_url")


def test_ours_is_measured_on_every_server_and_can_be_given_a_past(place: tuple[str, str]) -> None:
    kind, url = place
    with Session(System(kind, OURS, "rowmq_adapter.py", arguments=(kind,)), Place(url), PLAN) as session:
        made = session.control.ask("seed", finished=30, size=200)
        assert made == {"finished": 30}
        assert bulk(session, rate=1000.0)["work"]
        assert session.control.ask("left") == {"left": 0}


def test_seeded_messages_are_done_and_have_a_body_like_others(place: tuple[str, str]) -> None:
    kind, url = place
    with Adapter(System(kind, OURS, "rowmq_adapter.py", arguments=(kind,))) as adapter:
        adapter.ask("open", url=url, make=True)
        adapter.ask("seed", finished=3, size=200)
    with rowmq.connect(url) as mq:
        found = list(mq.queue("q").find(state="done"))
        assert len({each.id for each in found}) == 3
        assert mq.queue("q").stats().done == 3
        assert all(len(each.payload["text"]) == 176 for each in found)
