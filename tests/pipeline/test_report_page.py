"""The page of a report: everything it is given is there, and nothing of it is anything but text."""

import csv
import io
import json
import re
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pyarrow.parquet as pq
import pytest

from rowmq.core.errors import InvalidSetting
from rowmq.pipeline.reporting.page import POLICY, filled, page
from rowmq.pipeline.reporting.period import Period, step_for
from rowmq.pipeline.reporting.plot import Line, bar_plot, line_plot
from rowmq.pipeline.reporting.tables import FORMATS, write_tables
from tests.pipeline.figures_sample import HOSTILE, START, figures, row

HOUR = timedelta(hours=1)


class Outline(HTMLParser):
    """Which elements and attributes a page has, and the text it shows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.shown = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.shown += data


def test_hostile_text_adds_no_element_and_no_attribute_anywhere() -> None:
    tame, hostile = Outline(page(figures("emails"))), Outline(page(figures(HOSTILE)))
    assert hostile.tags == tame.tags
    assert hostile.attributes == tame.attributes
    assert hostile.shown.count("<script>document.title='run'</script>") > 10
    assert "\\u202e" in hostile.shown
    assert "\u202e" not in hostile.shown


def test_a_browser_is_told_to_run_and_fetch_nothing() -> None:
    text = page(figures())
    assert f'content="{POLICY}"' in text
    assert "script-src" not in POLICY
    assert "default-src 'none'" in POLICY
    assert not re.search(r"(?:src|href)=", text)


def test_the_page_has_a_plot_for_each_thing_measured() -> None:
    titles = re.findall(r"<figcaption>(.*?)</figcaption>", page(figures()))
    for word in ("Throughput", "Depth", "Wait time", "Service time", "Failures", "Retries", "errors"):
        assert any(word in title for title in titles), word
    assert {"emails: messages", "emails: wait time", "emails: service time"} < set(titles)


def test_a_table_that_was_not_asked_for_is_not_on_the_page() -> None:
    some = figures()
    without = {name: rows for name, rows in some.tables.items() if name != "by_metadata"}
    bare = type(some)(some.period, without, read="", made_at=START)
    assert 'id="by_metadata"' in page(some)
    assert 'id="by_metadata"' not in page(bare)


def test_a_long_table_says_how_much_of_it_is_shown() -> None:
    some = figures()
    rows = [row("by_consumer", queue="emails", consumer=f"c{n}") for n in range(250)]
    text = page(type(some)(some.period, {**some.tables, "by_consumer": rows}, made_at=START))
    assert "The first 100 of 250" in text
    assert "<td>c99</td>" in text
    assert "<td>c100</td>" not in text


def test_a_step_without_events_has_no_counts_and_keeps_the_depth() -> None:
    period = Period(START, START + 3 * HOUR, HOUR)
    rows = [row("by_time", time=START, done=5, depth=7, wait_p50=0.5)]
    assert filled(rows, period, "done") == [5, 0, 0]
    assert filled(rows, period, "depth") == [7, 7, 7]
    assert filled(rows, period, "wait_p50") == [0.5, None, None]


def test_a_plot_draws_each_value_at_its_height_and_breaks_where_there_is_none() -> None:
    times = [START + hour * HOUR for hour in range(4)]
    drawn = ET.fromstring(line_plot("Depth", times, [Line("emails", [0.0, 50.0, None, 100.0])]))  # noqa: S314
    path = drawn.find(".//path")
    assert path is not None
    assert path.get("d") == "M64.0,212.0 L278.7,111.0 M708.0,10.0"
    assert [each.get("cy") for each in drawn.findall(".//circle")] == ["212.0", "111.0", "10.0"]
    assert [each.text for each in drawn.findall(".//circle/title")][2] == "emails, 2026-05-01 12:00:00: 100"


def test_a_plot_tells_those_who_cannot_see_it_what_it_shows() -> None:
    drawn = ET.fromstring(line_plot("Wait", [START], [Line("p50", [0.25])], unit="s"))  # noqa: S314
    assert drawn.findtext(".//svg/title") == "Wait"
    assert drawn.findtext(".//svg/desc") == "p50: at most 250 ms, at last 250 ms"


def test_bars_are_as_long_as_their_values() -> None:
    drawn = ET.fromstring(bar_plot("Errors", [("a", 200), ("b", 50)]))  # noqa: S314
    assert [float(str(each.get("width"))) for each in drawn.findall(".//rect")] == [630.0, 157.5]


def test_plots_of_nothing_say_so() -> None:
    for drawn in (line_plot("Wait", [START], []), bar_plot("Errors", [])):
        assert ET.fromstring(drawn).findtext(".//svg/desc") == "nothing happened"  # noqa: S314


def test_steps_begin_where_the_clock_does_and_cover_the_whole_period() -> None:
    period = Period(START + timedelta(minutes=30), START + timedelta(hours=2, minutes=1), HOUR)
    assert period.times == [START, START + HOUR, START + 2 * HOUR]
    assert Period(START, START + 2 * HOUR, HOUR).times == [START, START + HOUR]


@pytest.mark.parametrize(
    ("length", "step"),
    [
        (timedelta(seconds=50), timedelta(seconds=1)),
        (timedelta(minutes=30), timedelta(seconds=30)),
        (timedelta(hours=4), timedelta(minutes=5)),
        (timedelta(hours=6), HOUR),
        (timedelta(days=15), HOUR),
        (timedelta(days=16), timedelta(days=1)),
        (timedelta(days=6000), timedelta(days=2)),
    ],
)
def test_the_step_suits_the_length(length: timedelta, step: timedelta) -> None:
    assert step_for(length) == step
    assert Period(START, START + length, step).steps <= 5000


def test_a_period_that_cannot_be_is_refused_with_a_sentence() -> None:
    with pytest.raises(InvalidSetting, match="ends after it begins"):
        Period(START, START, HOUR)
    with pytest.raises(InvalidSetting, match="longer than 0"):
        Period(START, START + HOUR, timedelta(0))
    with pytest.raises(InvalidSetting, match="choose a longer step"):
        Period(START, START + timedelta(days=1), timedelta(seconds=1))


def test_tables_are_written_as_parquet_csv_and_json_with_the_same_rows(tmp_path: Path) -> None:
    rows = [row("errors", queue="=1+1", error="<b>", failures=3, example="é\n")]
    paths = write_tables({"errors": rows, "slowest": []}, tmp_path / "tables")
    assert len(paths) == 2 * len(FORMATS)
    from_json = json.loads((tmp_path / "tables/errors.json").read_text())
    assert from_json[0] == dict(rows[0]) | {
        "first_at": "2026-05-01T09:00:00Z",
        "last_at": "2026-05-01T09:00:00Z",
    }
    assert pq.read_table(tmp_path / "tables/errors.parquet").to_pylist() == rows
    assert pq.read_table(tmp_path / "tables/slowest.parquet").schema.names[:2] == ["id", "queue"]
    text = (tmp_path / "tables/errors.csv").read_bytes().decode()
    from_csv = list(csv.DictReader(io.StringIO(text, newline="")))
    assert from_csv[0]["queue"] == "'=1+1"  # a spreadsheet would run it otherwise
    assert from_csv[0]["example"] == "é\n"


def test_a_folder_that_cannot_be_written_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidSetting, match="name another folder"):
        write_tables({"attempts": []}, tmp_path / "file")
