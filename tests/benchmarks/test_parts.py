"""A comparison in parts: what is kept, what is measured again, and what the command line asks for."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers import run as running
from benchmarks.peers.__main__ import main, options_of, parser
from benchmarks.peers.catalogue import BARE, OURS, System, chosen
from benchmarks.peers.figures import Record
from benchmarks.peers.measure import Figures
from benchmarks.peers.place import Places
from benchmarks.peers.plan import Plan
from benchmarks.peers.results import Results
from benchmarks.peers.run import Options, Run
from benchmarks.peers.scenes import SCENES, Crowd

SYSTEMS = [System("sqlite", OURS, "rowmq_adapter.py"), System("sqlite", "huey", "huey_adapter.py")]
PLAN = Plan(messages=10, seconds=1.0, paced=1)


def part(store: str, sizes: list[str], scenes: list[str] | None = None) -> dict[str, Any]:
    """An earlier part, as far as it is looked at."""
    return {"store": store, "sizes": sizes, "scenes": scenes or []}


def rows(results: Results) -> dict[tuple[str, str], list[float | None]]:
    return {(each.system, each.case): each.values for each in results.book.all() if each.measure == "work"}


class Counted(Run):
    """A run that counts instead of measuring; one system may fail."""

    def __init__(self, results: Results, *, fails: str = "", **options: Any) -> None:
        asked = Options(systems=SYSTEMS, plan=PLAN, rounds=2, sizes=["200 B"], crowd=None)._replace(**options)
        super().__init__(asked, results, lambda _: None)
        self.fails, self.steps = fails, 0

    def _installed(self, system: System) -> bool:
        self.results.describe({"store": system.store, "system": system.name, "version": "", "settings": ""})
        return True

    def _figures(self, spots: Places, system: System, case: str, number: int) -> Figures:
        self.steps += 1
        if system.name == self.fails:
            raise RuntimeError("it broke")
        return {"work": float(self.steps)}


def test_a_run_measures_everybody_in_turn_and_says_when_it_was() -> None:
    run = Counted(Results())
    run.all()
    assert rows(run.results) == {(OURS, "200 B"): [1.0, 4.0], ("huey", "200 B"): [2.0, 3.0]}
    (part,) = run.results.parts
    assert (part["store"], part["rounds"], part["sizes"], part["scenes"]) == ("sqlite", 2, ["200 B"], [])
    assert {"commit", "when", "load", "machine"} <= set(part)


def test_what_fails_leaves_a_gap_and_a_reason_and_the_others_go_on() -> None:
    run = Counted(Results(), fails="huey")
    run.all()
    assert rows(run.results) == {(OURS, "200 B"): [1.0, 4.0], ("huey", "200 B"): [None, None]}
    assert {each["system"] for each in run.results.troubles} == {"huey"}


def test_a_resumed_run_measures_what_is_missing_and_forgets_what_had_failed() -> None:
    first = Counted(Results(), fails="huey")
    first.all()
    again = Counted(first.results, resume=True, rounds=3)
    again.all()
    assert rows(again.results) == {(OURS, "200 B"): [1.0, 4.0, 3.0], ("huey", "200 B"): [1.0, 2.0, 4.0]}
    assert again.results.troubles == []
    assert len(again.results.parts) == 2


def test_a_run_that_is_not_resumed_measures_anew_and_keeps_what_it_was_not_asked_for() -> None:
    kept = Results()
    kept.book.put("redis", OURS, "200 B", 0, {"work": 7.0})
    kept.book.put("sqlite", OURS, "200 B", 5, {"work": 7.0})
    run = Counted(kept)
    run.all()
    assert run.results.book.get("redis", OURS, "200 B", "work") is not None
    assert rows(run.results)[OURS, "200 B"] == [1.0, 4.0]


def test_a_part_of_which_nothing_is_left_is_forgotten() -> None:
    first = Counted(Results(), systems=chosen(stores=("sqlite",), names=(), quick=False))
    first.results.parts = [part("sqlite", ["200 B"]), part("sqlite", ["2 KB"]), part("redis", ["200 B"])]
    first.results.parts += [part("sqlite", ["200 B"], ["held"]), part("sqlite", [], [])]
    first.all()
    kept = [(each["store"], each["sizes"], each["scenes"]) for each in first.results.parts]
    assert kept == [
        ("sqlite", ["2 KB"], []),
        ("redis", ["200 B"], []),
        ("sqlite", ["200 B"], ["held"]),
        ("sqlite", ["200 B"], []),
    ]


def test_a_run_of_some_systems_leaves_the_parts_before_it() -> None:
    some = Counted(Results())
    some.results.parts = [part("sqlite", ["200 B"])]
    some.all()
    assert len(some.results.parts) == 2


class FakePlace:
    @staticmethod
    def dead() -> None:
        return None


class FakeScene:
    """Eight messages a second in every scene but a broken one, which may break while it is aged already."""

    def __init__(self, case: str, *, broken: str = "", ageing: Callable[[], object] | None = None) -> None:
        self.case, self.session, self.place = case, self, FakePlace
        self.crowd: Figures = {"waiting": 5}
        self._broken, self._ageing = broken, ageing

    def work(self) -> float:
        if self.case == self._broken:
            raise RuntimeError("it broke")
        return 8.0

    def age(self, _: float) -> None:
        if self._ageing:
            self._ageing()


class FakeStage:
    """A stage on which one scene cannot be built."""

    empty = FakeScene("empty")

    def __init__(self, *, lacks: str = "", **fake: Any) -> None:
        self._lacks, self._fake = lacks, fake

    def scene(self, case: str) -> FakeScene:
        if case == self._lacks:
            raise RuntimeError("it cannot be seeded")
        return FakeScene(case, **self._fake)


def staged(monkeypatch: pytest.MonkeyPatch, **stages: FakeStage) -> None:
    """Let each system have that stage."""

    @contextmanager
    def stage(system: System, *_: object) -> Iterator[FakeStage]:
        yield stages[system.name]

    monkeypatch.setattr(running, "stage", stage)


def test_a_scene_that_cannot_be_built_or_fails_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    staged(monkeypatch, RowMQ=FakeStage(lacks="finished", broken="held"))
    run = Counted(Results(), crowd=Crowd(scenes=("waiting", "finished", "held")), systems=SYSTEMS[:1])
    run.all()
    found = rows(run.results)
    assert found[OURS, "waiting"] == [8.0, 8.0]
    assert found[OURS, "held"] == [None, None]
    assert (OURS, "finished") not in found
    assert {each["case"] for each in run.results.troubles} == {"finished", "held"}
    empty = run.results.book.get("sqlite", OURS, "waiting", "empty")
    assert empty is not None
    assert empty.values == [8.0, 8.0]


def test_all_systems_work_at_once_while_a_transaction_is_held_open_beside_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together = threading.Barrier(2, timeout=10)
    staged(monkeypatch, RowMQ=FakeStage(ageing=together.wait), huey=FakeStage(ageing=together.wait))
    run = Counted(Results(), crowd=Crowd(scenes=("held",)))
    run.all()
    assert run.results.troubles == []
    assert {name: found for (name, case), found in rows(run.results).items() if case == "held"} == {
        OURS: [8.0, 8.0],
        "huey": [8.0, 8.0],
    }


def test_who_cannot_go_on_beside_an_open_transaction_is_left_out_and_the_others_are_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def breaks() -> None:
        raise RuntimeError("it stands still")

    staged(monkeypatch, RowMQ=FakeStage(), huey=FakeStage(ageing=breaks))
    run = Counted(Results(), crowd=Crowd(scenes=("held",)))
    run.all()
    found = rows(run.results)
    assert found[OURS, "held"] == [8.0, 8.0]
    assert ("huey", "held") not in found
    (trouble,) = run.results.troubles
    assert (trouble["system"], trouble["case"]) == ("huey", "held")
    assert "it stands still" in trouble["what"]


def test_results_come_back_as_they_were_kept(tmp_path: Path) -> None:
    run = Counted(Results(), fails="huey")
    run.all()
    run.results.miss({"store": "redis", "system": "rq", "reason": "gone"})
    run.results.save(tmp_path)
    found = Results.load(tmp_path)
    assert found.book.all() == run.results.book.all()
    for name in ("parts", "servers", "systems", "missing", "troubles"):
        assert getattr(found, name) == getattr(run.results, name)


def test_joined_results_are_of_whoever_measured_a_case_last() -> None:
    first, second = Results(), Results()
    first.book.put("sqlite", "huey", "200 B", 0, {"work": 1.0})
    first.book.put("sqlite", "huey", "200 B", 1, {"work": 1.0})
    first.book.put("redis", "rq", "200 B", 0, {"work": 2.0})
    first.miss({"store": "sqlite", "system": "huey", "reason": "not yet"})
    first.troubles = [{"store": "sqlite", "system": "huey", "case": "200 B", "what": "old"}]
    second.book.put("sqlite", "huey", "200 B", 0, {"work": 3.0})
    second.describe({"store": "sqlite", "system": "huey", "version": "2", "settings": ""})
    first.join(second)
    assert first.book.all() == [
        Record("redis", "rq", "200 B", "work", [2.0]),
        Record("sqlite", "huey", "200 B", "work", [3.0]),
    ]
    assert (first.missing, first.troubles) == ([], [])
    assert [each["version"] for each in first.systems] == ["2"]


def test_a_case_is_joined_from_the_run_that_had_more_systems_in_it() -> None:
    many, few = Results(), Results()
    for name in (OURS, "huey"):
        many.book.put("sqlite", name, "200 B", 0, {"work": 1.0})
    few.book.put("sqlite", OURS, "200 B", 0, {"work": 9.0})
    few.book.put("sqlite", OURS, "held", 0, {"work": 5.0})
    for first, second in ((many, few), (few, many)):
        both = Results()
        both.join(first)
        both.join(second)
        found = {(OURS, "200 B"): [1.0], ("huey", "200 B"): [1.0], (OURS, "held"): [5.0]}
        assert rows(both) == found


def options(*words: str) -> Options:
    return options_of(parser().parse_args(words))


def test_sizes_may_be_asked_for_in_any_order() -> None:
    assert options("--size", "20 KB", "--size", "200 B").sizes == ["200 B", "20 KB"]


def test_a_crowd_of_nobody_is_no_scene_and_leaves_the_fifo_queue_as_it_is() -> None:
    asked = options("--waiting", "0")
    assert asked.crowd is not None
    assert asked.crowd.scenes == ("finished", "workers", "held")
    assert asked.fifo == 100_000
    assert options("--fifo", "0").fifo == 0


def test_scenes_and_peers_of_the_long_matrix_can_be_chosen() -> None:
    asked = options("--scene", "held", "--matrix-peers", "0")
    assert asked.crowd is not None
    assert (asked.crowd.scenes, asked.peers) == (("held",), 0)
    everything = options()
    assert everything.crowd is not None
    assert (everything.crowd.scenes, everything.peers) == (SCENES, 2)
    assert options("--short").crowd is None


def test_a_quick_run_is_ours_and_four_peers_at_one_size_without_crowds() -> None:
    asked = options("--quick")
    peers = {each.name for each in asked.systems} - {OURS, BARE}
    assert (len(peers), asked.sizes, asked.rounds, asked.crowd) == (4, ["200 B"], 1, None)


@pytest.mark.parametrize(
    ("kind", "alone", "left_out"), [("redis", False, {"held"}), ("sqlite", True, {"4 workers", "16 workers"})]
)
def test_a_system_is_not_put_where_it_cannot_be(kind: str, alone: bool, left_out: set[str]) -> None:
    cases = Crowd().cases(System(kind, "any", "any_adapter.py", alone=alone), kind)
    assert not left_out & set(cases)
    assert {"waiting", "finished", "both"} <= set(cases)


def test_other_folders_are_joined_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, name in enumerate((OURS, "huey"), start=1):
        part = Results()
        part.book.put("sqlite", name, "200 B", 0, {"work": float(number)})
        (tmp_path / str(number)).mkdir()
        part.save(tmp_path / str(number))
    folders = [str(tmp_path / "1"), str(tmp_path / "2")]
    monkeypatch.setattr("sys.argv", ["peers", "--out", str(tmp_path / "all"), "--join", *folders])
    main()
    assert "| RowMQ | 1.0 |" in capsys.readouterr().out
    assert len(Results.load(tmp_path / "all").book.all()) == 2
