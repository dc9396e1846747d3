"""The page of a report in a real browser: its plots are there, and nothing in it runs."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from rowmq.pipeline.reporting.page import page
from tests.pipeline.figures_sample import HOSTILE, figures
from tests.servers import ServerMissingError, skip_or_fail

PLOTS = """figures => figures.map(figure => {
    const marks = [...figure.querySelectorAll('path.line, rect.bar')];
    return {
        title: figure.querySelector('figcaption').textContent,
        width: figure.querySelector('svg').getBoundingClientRect().width,
        marks: marks.map(mark => mark.getBoundingClientRect().width),
        colours: marks.map(mark => getComputedStyle(mark)[mark.tagName === 'path' ? 'stroke' : 'fill']),
    };
})"""
SHOWN = (
    "Throughput",
    "Depth",
    "Wait time",
    "Service time",
    "Failures",
    "Retries",
    "Pushed",
    "Attempts",
    "errors",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        skip_or_fail(ServerMissingError("Chromium is not installed: apt install chromium"))
    sandbox = os.geteuid() != 0  # Chromium has none for root
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, chromium_sandbox=sandbox)
        yield started
        started.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Page]:
    """A page with nothing in it yet."""
    made = browser.new_page()
    yield made
    made.close()


def test_a_browser_draws_the_plots_and_runs_nothing(opened: Page, tmp_path: Path) -> None:
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("request", lambda request: said.append(request.url))
    file = tmp_path / "report.html"
    file.write_text(page(figures(HOSTILE, hours=24)), encoding="utf-8")
    opened.goto(file.as_uri())
    opened.eval_on_selector_all("details", "each => each.forEach(one => one.open = true)")
    plots = opened.eval_on_selector_all("figure.plot", PLOTS)
    for word in SHOWN:
        assert any(word in plot["title"] for plot in plots), word
    for plot in plots:
        assert plot["width"] > 300
        assert plot["marks"], plot["title"]
        assert all(width > 5 for width in plot["marks"]), plot
        assert "none" not in plot["colours"]
    assert opened.title() == "RowMQ report"
    assert said == [file.as_uri()]
    assert opened.locator("table#slowest td").nth(8).inner_text().startswith("<script>document.title='run'")


def test_dark_and_light_are_told_apart(opened: Page, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(page(figures()), encoding="utf-8")
    seen = set()
    for scheme in ("dark", "light"):
        opened.emulate_media(color_scheme=scheme)
        opened.goto(file.as_uri())
        seen.add(opened.eval_on_selector("body", "body => getComputedStyle(body).backgroundColor"))
    assert len(seen) == 2
