"""The comparison with peers: its arithmetic, its report, and adapters that can at least be read."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchmarks.peers import process
from benchmarks.peers.adapter import Adapter, AdapterFailed, Refused
from benchmarks.peers.catalogue import BARE, OURS, PEERS, SYSTEMS, System, chosen
from benchmarks.peers.figures import Book, Ratio, Record, percentile, ratio
from benchmarks.peers.install import HERE, CannotBeHad, install
from benchmarks.peers.measure import costs
from benchmarks.peers.place import Place
from benchmarks.peers.report import write
from benchmarks.peers.session import Plan, Session, Use, Worked
from benchmarks.peers.targets import TARGETS, Target

ADAPTERS = HERE / "adapters"
PROTOCOL = {"describe", "open", "start", "stop", "left"}


def work(system: str, *values: float | None, store: str = "sqlite", case: str = "200 B") -> Record:
    return Record(store, system, case, "work", list(values))


def test_a_ratio_compares_round_with_round() -> None:
    found = ratio(work(OURS, 10.0, 40.0, 30.0), work("huey", 1.0, 2.0, 6.0))
    assert found == Ratio(median=10.0, least=5.0, most=20.0, rounds=3)


def test_a_round_that_either_of_two_missed_is_left_out_of_their_ratio() -> None:
    found = ratio(work(OURS, None, 40.0, 30.0), work("huey", 1.0, 2.0, None))
    assert found == Ratio(median=20.0, least=20.0, most=20.0, rounds=1)
    assert ratio(work(OURS, None), work("huey", 1.0)) is None


@pytest.mark.parametrize(
    ("found", "tie"),
    [
        (Ratio(1.5, 0.9, 2.0, rounds=3), True),
        (Ratio(1.5, 1.1, 2.0, rounds=3), False),
        (Ratio(0.7, 0.6, 0.8, rounds=3), False),
        (Ratio(1.04, 1.01, 1.06, rounds=3), True),
        (Ratio(1.1, 1.1, 1.1, rounds=1), True),
        (Ratio(1.2, 1.2, 1.2, rounds=1), False),
    ],
)
def test_a_difference_within_the_noise_is_a_tie(found: Ratio, tie: bool) -> None:
    assert found.is_tie is tie


def test_a_median_ignores_rounds_that_failed() -> None:
    assert work(OURS, 3.0, None, 1.0, 2.0).median == 2.0
    assert work(OURS, None).median is None


def test_a_percentile_is_one_of_the_times() -> None:
    times = [float(each) for each in range(1, 101)]
    assert (percentile(times, 0.5), percentile(times, 0.99), percentile(times, 1.0)) == (50, 99, 100)
    assert percentile([7.0], 0.99) == 7.0


def test_a_book_knows_the_best_of_a_store() -> None:
    book = Book([work(OURS, 50.0), work("a", 10.0), work("b", 30.0, None), work("c", 20.0), work("d", None)])
    book.add("redis", "e", "200 B", "work", 99.0)
    assert book.best("sqlite", "200 B", "work", 2, {OURS}) == ["b", "c"]


def test_the_cost_of_a_message_is_its_share_of_pushing_and_of_working() -> None:
    worked = Worked(messages=50, seconds=2.0, use=Use(1.0, 2.0, 5000.0), memory=0)
    found = costs(Use(2.0, 1.0, 10_000.0), 100, worked)
    assert found == pytest.approx({"client CPU": 400.0, "server CPU": 500.0, "bytes": 200.0})
    assert worked.rate == 25.0


def test_large_messages_are_fewer() -> None:
    plan = Plan(messages=100_000, seconds=5.0, paced=100)
    assert (plan.of_size(20_000).messages, plan.of_size(20_000).size) == (10_000, 20_000)
    assert plan.of_size(200).messages == 100_000


def test_cpu_time_is_that_of_a_process_and_those_it_started_and_that_have_ended() -> None:
    child = "subprocess.run([sys.executable, '-c', 'sum(range(20_000_000))'])"
    busy = f"import subprocess, sys; {child}; print(); input()"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", busy], stdin=pipe, stdout=pipe, bufsize=0) as started:
        assert started.stdout is not None
        started.stdout.readline()
        assert process.cpu_seconds([started.pid]) > 0.2
        assert process.peak_memory([started.pid]) > 1e6
        started.communicate(b"\n")
    assert process.cpu_seconds([started.pid]) == 0


def targeted(*records: Record) -> Book:
    return Book(records)


def test_a_target_is_reached_missed_or_within_the_noise() -> None:
    target = Target("sqlite", "work", 10, "huey")
    cases = {
        (200.0, 150.0): "reached",
        (20.0, 30.0): "**missed**",
        (140.0, 90.0): "reached, within noise",
        (100.0, 70.0): "missed, within noise",
    }
    for ours, said in cases.items():
        assert target.verdict(targeted(work(OURS, *ours), work("huey", 10.0, 10.0))) == said
    assert target.verdict(targeted(work(OURS, 1.0))) == "not measured"


def test_a_target_without_a_peer_is_a_bound_from_above() -> None:
    target = Target("sqlite", "latency idle, p50", 3)
    book = Book([Record("sqlite", OURS, "200 B", "latency idle, p50", [2.0, 4.0, 2.5])])
    assert (target.reached(book), target.verdict(book)) == (2.5, "reached")
    assert Target("sqlite", "latency idle, p50", 2).verdict(book) == "**missed**"


def test_every_target_names_systems_that_are_measured() -> None:
    known = {(system.store, system.name) for system in SYSTEMS}
    assert {(each.other_store or each.store, each.against or OURS) for each in TARGETS} <= known


RESULTS = {
    "when": "now", "commit": "abc", "machine": "one core", "python": "3.11", "load": "0 0 0",
    "servers": {"sqlite": "a file"},
    "plan": {"messages": 500, "seconds": 1.0, "rounds": 2},
    "systems": [{"store": "sqlite", "system": "huey", "version": "1", "settings": "a | b\nc"}],
    "missing": [{"store": "postgres", "system": "oban", "reason": "no Python"}],
    "troubles": [{"store": "sqlite", "system": "huey", "case": "200 B", "what": "it <broke>"}],
    "records": [
        work(OURS, 1000.0, 3000.0)._asdict(),
        work("huey", 10.0, 20.0)._asdict(),
        work(BARE, 2000.0, 4000.0)._asdict(),
        work("huey <b>", 900.0, 3300.0)._asdict(),
        work(OURS, 5.0, store="postgres")._asdict(),
    ],
}  # fmt: skip


@pytest.fixture
def report(tmp_path: Path) -> Path:
    write(RESULTS, tmp_path / "peers.md", tmp_path)
    return tmp_path


def test_a_report_says_medians_ranges_ratios_and_ties(report: Path) -> None:
    page = (report / "peers.md").read_text()
    assert "| RowMQ | 2,000 (1,000-3,000) |  | 0.62 (0.50-0.75) |" in page
    assert "| huey | 15 (10-20) | 125.00 (100.00-150.00) | 0.01 (0.01-0.01) |" in page
    assert "| 1.01 (0.91-1.11), a tie |" in page
    assert "| SQLite | work, of huey | 10 | 125.00 (100.00-150.00) | reached |" in page


def test_a_report_says_what_was_not_measured_and_with_which_settings(report: Path) -> None:
    page = (report / "peers.md").read_text()
    assert "- PostgreSQL, oban: no Python" in page
    assert "- SQLite, huey, 200 B: it <broke>" in page
    assert "| SQLite | huey | 1 | a \\| b c |" in page
    assert "commit abc" in page


def test_a_report_keeps_its_results(report: Path) -> None:
    assert json.loads((report / "results.json").read_text()) == RESULTS


def test_charts_are_pictures_whose_text_is_text(report: Path) -> None:
    for name in ("work.svg", "latency.svg", "roundtrips.svg"):
        ET.fromstring((report / name).read_text())  # noqa: S314 - we wrote it
    drawn = (report / "work.svg").read_text()
    assert "huey &lt;b&gt;" in drawn
    assert drawn.count('class="ours"') == 2


def test_a_run_can_be_of_some_systems_or_stores_and_always_has_ours() -> None:
    assert {each.name for each in chosen(stores=("postgres",), names=("oban",), quick=False)} == {
        OURS,
        BARE,
        "oban",
    }
    quick = chosen(stores=(), names=(), quick=True)
    assert len([each for each in quick if each.name not in (OURS, BARE)]) == 4
    assert {each.store for each in quick} == {"sqlite", "postgres", "redis"}
    assert len(chosen(stores=(), names=(), quick=False)) == len(SYSTEMS)


@pytest.mark.parametrize("system", PEERS, ids=lambda system: system.name)
def test_every_peer_has_exact_versions(system: System) -> None:
    assert system.packages
    assert all(("@" if system.is_node else "==") in package for package in system.packages)


def test_a_package_that_cannot_be_had_is_a_reason_and_not_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.peers.install.HOMES", tmp_path)
    with pytest.raises(CannotBeHad, match=r"needs Python 9\.9"):
        install(System("sqlite", "later", "later_adapter.py", ("later==1",), python=(9, 9)))


@pytest.mark.parametrize("file", sorted(ADAPTERS.glob("*_adapter.py")), ids=lambda file: file.name)
def test_every_adapter_in_python_parses_and_says_its_settings(file: Path) -> None:
    tree = ast.parse(file.read_text())
    named = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    pulls = any(isinstance(node, ast.Name) and node.id == "PullPeer" for node in ast.walk(tree))
    wanted = {"main", "limit"} if file.name.startswith("bare") else PROTOCOL
    assert wanted - ({"start", "stop"} if pulls else set()) <= named
    assert '"settings"' in file.read_text()


@pytest.mark.parametrize("file", sorted(ADAPTERS.glob("*_adapter.mjs")), ids=lambda file: file.name)
def test_every_adapter_in_javascript_has_the_whole_protocol(file: Path) -> None:
    text = file.read_text()
    assert all(f"  {name}(" in text or f"async {name}(" in text for name in (*PROTOCOL, "push"))
    assert "settings:" in text


def test_every_system_has_an_adapter_and_every_adapter_a_system() -> None:
    found = {file.name for pattern in ("*_adapter.py", "*_adapter.mjs") for file in ADAPTERS.glob(pattern)}
    assert found == {system.adapter for system in SYSTEMS}


OWN = System("sqlite", OURS, "rowmq_adapter.py")


def test_an_adapter_is_measured_from_push_to_ack(tmp_path: Path) -> None:
    plan = Plan(messages=40, seconds=5.0, paced=5, batch=20)
    with Session(OWN, Place(str(tmp_path)), plan) as session:
        assert session.enqueue(40, 20)[0] == 40
        assert session.control.ask("left") == {"left": 40}
        worked = session.work(40)
        assert (worked.messages, session.control.ask("left")) == (40, {"left": 0})
        assert worked.memory > 1e6
        called, returned = session.latency(5, 0.01)
        assert len(called) == 5
        assert all(one > other for one, other in zip(called, returned, strict=True))
        assert session.roundtrip() > 0


def test_an_adapter_says_what_it_does_not_offer_and_what_went_wrong(tmp_path: Path) -> None:
    with Adapter(OWN) as adapter:
        with pytest.raises(Refused, match="only SQS"):
            adapter.ask("cycle", count=1, seconds=1, size=1, waiting=0)
        with pytest.raises(AdapterFailed, match="no-such-folder"):
            adapter.ask("open", url=str(tmp_path / "no-such-folder"), make=True)
