"""The comparison with peers: its arithmetic, its report, and adapters that can at least be read."""

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from benchmarks.peers import process
from benchmarks.peers.catalogue import BARE, OURS, PEERS, SYSTEMS, System, chosen
from benchmarks.peers.clock import Span, span
from benchmarks.peers.figures import Book, Ratio, Record, percentile, ratio
from benchmarks.peers.install import HERE, CannotBeHad, install
from benchmarks.peers.measure import costs
from benchmarks.peers.plan import FEW, Plan
from benchmarks.peers.publish import publish
from benchmarks.peers.report import write
from benchmarks.peers.results import Results
from benchmarks.peers.session import Use, Worked
from benchmarks.peers.targets import TARGETS, Target
from benchmarks.publish import marks

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
    book.put("redis", "e", "200 B", 0, {"work": 99.0})
    assert book.best("sqlite", "200 B", "work", 2, {OURS}) == ["b", "c"]


def test_the_cost_of_a_message_is_its_share_of_pushing_and_of_working() -> None:
    worked = Worked(Span(60, 2.0), used_for=50, use=Use(1.0, 2.0, 5000.0), memory=0, stop=0.1)
    found = costs(Use(2.0, 1.0, 10_000.0), 100, worked)
    assert found == pytest.approx({"client CPU": 400.0, "server CPU": 500.0, "bytes": 200.0})
    assert worked.rate == 30.0


def test_what_a_store_does_not_have_costs_nothing_that_could_be_said() -> None:
    worked = Worked(Span(60, 2.0), used_for=50, use=Use(1.0, None, None), memory=0, stop=0.1)
    found = costs(Use(2.0, None, None), 100, worked)
    assert (found["server CPU"], found["bytes"]) == (None, None)


def test_the_clock_runs_from_a_tenth_handled_to_all_handled_whoever_handles_them() -> None:
    second = 1_000_000_000
    ticks = [[(second, 5), (3 * second, 40), (6 * second, 55)], [(2 * second, 5), (5 * second, 50)]]
    assert span(ticks, 100, started=0) == Span(messages=95, seconds=4.0)
    with pytest.raises(ValueError, match="200 messages have not been handled"):
        span(ticks, 200, started=0)


def test_who_is_behind_with_acks_pays_for_the_time_until_they_are_made() -> None:
    second = 1_000_000_000
    ticks = [[(second, 10), (3 * second, 100)]]
    assert span(ticks, 100, started=0, acked=9 * second) == Span(messages=90, seconds=8.0)
    assert span(ticks, 100, started=0, acked=0) == Span(messages=90, seconds=2.0)


def test_a_step_of_which_much_came_at_once_is_timed_from_its_start() -> None:
    second = 1_000_000_000
    assert span([[(3 * second, 100)]], 100, started=second) == Span(messages=100, seconds=2.0)
    assert span([[(3 * second, 26), (4 * second, 100)]], 100, started=second) == Span(100, 3.0)
    assert span([[(3 * second, 25), (4 * second, 100)]], 100, started=second) == Span(75, 1.0)


def test_a_slow_system_gets_fewer_messages_instead_of_less_time() -> None:
    plan = Plan(messages=100_000, seconds=5.0, paced=100)
    assert [plan.scaled(rate) for rate in (1.0, 300.0, 50_000.0)] == [FEW, 1500, 100_000]


def test_large_messages_are_fewer() -> None:
    plan = Plan(messages=100_000, seconds=5.0, paced=100)
    assert (plan.of_size(20_000).messages, plan.of_size(20_000).size) == (10_000, 20_000)
    assert plan.of_size(200).messages == 100_000


def test_cpu_time_is_that_of_a_process_and_those_it_started_and_that_have_ended() -> None:
    child = "import time\nwhile time.process_time() < 0.3: pass"
    busy = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}]); print(); input()"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", busy], stdin=pipe, stdout=pipe, bufsize=0) as started:
        assert started.stdout is not None
        started.stdout.readline()
        assert process.cpu_seconds([started.pid]) > 0.2
        assert process.shared_memory([started.pid]) > 1e6
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
    assert (target.said(book), target.verdict(book)) == ("2.5 (2.0-4.0)", "reached, within noise")
    assert Target("sqlite", "latency idle, p50", 1.5).verdict(book) == "**missed**"
    assert Target("sqlite", "latency idle, p50", 5).verdict(book) == "reached"


def test_a_single_round_close_to_a_bound_is_within_the_noise() -> None:
    latency = Target("sqlite", "latency idle, p50", 3)
    for value, said in {3.3: "missed, within noise", 2.7: "reached, within noise", 2.0: "reached"}.items():
        book = Book([Record("sqlite", OURS, "200 B", "latency idle, p50", [value])])
        assert latency.verdict(book) == said
    rate = Target("sqlite", "work", 10, "huey")
    assert rate.verdict(Book([work(OURS, 95.0), work("huey", 10.0)])) == "missed, within noise"


def test_every_target_names_systems_that_are_measured() -> None:
    known = {(system.store, system.name) for system in SYSTEMS}
    assert {(each.other_store or each.store, each.against or OURS) for each in TARGETS} <= known


MACHINE = {"machine": "one core", "python": "3.11", "commit": "abc", "when": "now", "load": "0 0 0"}


def part(store: str) -> dict[str, Any]:
    plan = {"messages": 500, "seconds": 1.0, "rounds": 2, "sizes": ["200 B"], "scenes": []}
    return {"store": store, **MACHINE, **plan}


@pytest.fixture
def results() -> Results:
    found = Results()
    found.parts = [part("sqlite"), part("postgres")]
    found.servers = {"sqlite": "a file"}
    found.systems = [{"store": "sqlite", "system": "huey", "version": "1", "settings": "a | b\nc"}]
    found.missing = [{"store": "postgres", "system": "oban", "reason": "no Python"}]
    found.troubles = [{"store": "sqlite", "system": "huey", "case": "200 B", "what": "it <broke>"}]
    found.book = Book(
        [
            work(OURS, 1000.0, 3000.0),
            work("huey", 10.0, 20.0),
            work(BARE, 2000.0, 4000.0),
            work("huey <b>", 900.0, 3300.0),
            work(OURS, 5.0, store="postgres"),
            work(OURS, 600.0, 700.0, case="2 KB"),
            work("huey", 7.0, 8.0, case="2 KB"),
            work(BARE, 1200.0, 1400.0, case="2 KB"),
            work(OURS, 90.0, case="20 KB"),
            Record("sqlite", "huey", "2 KB", "client CPU", [0.5, 0.7]),
            work(OURS, 400.0, 500.0, case="waiting"),
            Record("sqlite", OURS, "waiting", "empty", [500.0, 500.0]),
            Record("sqlite", OURS, "waiting", "waiting", [1_000_000]),
            Record("sqs", "moto_server", "200 B", "cycle", [5.0]),
            Record("sqs", "moto_server", "200 B", "waiting in FIFO", [8123.0]),
        ]
    )
    return found


@pytest.fixture
def report(results: Results, tmp_path: Path) -> Path:
    write(results, tmp_path / "peers.md", tmp_path)
    return tmp_path


def test_a_report_says_medians_ranges_ratios_and_ties(report: Path) -> None:
    page = (report / "peers.md").read_text()
    assert "| RowMQ | 2,000 (1,000-3,000) |  |" in page
    assert "| huey | 15 (10-20) | 125.00 (100.00-150.00) |" in page
    assert "| 1.01 (0.91-1.11), a tie |" in page
    assert "| SQLite | work, of huey | 10 | 125.00 (100.00-150.00) | reached |" in page


def test_a_report_says_every_figure_as_a_part_of_the_bare_loop(report: Path) -> None:
    page = (report / "peers.md").read_text()
    _, main, other, *_ = page.split("As a part of the bare loop:")
    assert "| system | work | client CPU |" not in page
    assert main.split("\n\n")[1].startswith("| system | work |\n|---|---|\n| RowMQ | 0.62 (0.50-0.75) |")
    assert "| RowMQ | 0.50 (0.50-0.50) |" in other


def test_a_report_has_a_row_for_everybody_who_was_measured_in_any_case(report: Path) -> None:
    page = (report / "peers.md").read_text()
    assert "| huey | 15 (10-20) | 7.5 (7.0-8.0) | - |" in page
    assert "| RowMQ | 2,000 (1,000-3,000) | 650 (600-700) | 90 |" in page
    assert "| huey | - | - | - | - | - | - | - | 0.60 (0.50-0.70) | - | - | - | - |" in page


def test_a_report_says_what_a_crowd_leaves_and_how_large_it_was(report: Path) -> None:
    page = (report / "peers.md").read_text()
    assert "450 (400-500); 0.90 (0.80-1.00) of empty; 0.15 of bare" in page
    assert "RowMQ, waiting: 1,000,000 waiting" in page
    assert "moto_server 8,123." in page


def test_a_report_says_what_was_not_measured_and_with_which_settings(report: Path) -> None:
    page = (report / "peers.md").read_text()
    assert "- PostgreSQL, oban: no Python" in page
    assert "- SQLite, huey, 200 B: it <broke>" in page
    assert "| SQLite | huey | 1 |  | a \\| b c |" in page
    assert "| SQLite | now | abc | 0 0 0 | 2 | 500 messages, 1 s | 200 B |  | one core; Python 3.11 |" in page


def test_charts_are_found_from_the_page_wherever_it_is(results: Results, tmp_path: Path) -> None:
    (tmp_path / "charts").mkdir()
    write(results, tmp_path / "peers.md", tmp_path / "charts")
    for name in re.findall(r"\]\((.*?\.svg)\)", (tmp_path / "peers.md").read_text()):
        assert (tmp_path / name).exists()
        assert name.startswith("charts/")


def test_charts_are_pictures_whose_text_is_text(report: Path) -> None:
    for name in ("work.svg", "latency.svg", "roundtrips.svg"):
        ET.fromstring((report / name).read_text())  # noqa: S314 - we wrote it
    drawn = (report / "work.svg").read_text()
    assert "huey &lt;b&gt;" in drawn
    assert drawn.count('class="ours"') == 2


def test_other_pages_get_a_chart_and_a_sentence_between_their_marks(results: Results, tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    pages = (tmp_path / "README.md", tmp_path / "benchmarks" / "results.md")
    first, last = marks("peers")
    for page in pages:
        page.write_text(f"before\n{first}\nold\n{last}\nafter\n")
    publish(results, tmp_path)
    for page in pages:
        text = page.read_text()
        assert text.startswith(f"before\n{first}\n")
        assert text.endswith(f"{last}\nafter\n")
        assert "on SQLite RowMQ is 1.0 times huey <b>, the fastest peer (a tie)" in text
        assert "work.svg" in text
        assert "old" not in text


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
    wanted = (
        {"do_describe", "do_open", "do_ready", "do_limit", "do_pace"}
        if file.name.startswith("bare")
        else PROTOCOL
    )
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
