"""All pages and actions in a real browser: with hostile text, by keyboard alone, narrow, nowhere pale."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from rowmq.doors.http.dashboard.links import link
from rowmq.doors.http.dashboard.words import key
from rowmq.pipeline.lake.folder import Lake
from rowmq.pipeline.lake.manifest import Batches
from rowmq.runtime.client import Client, connect
from tests.doors.http.dashboard.hostile import MARK, TEXTS, fill
from tests.doors.http.dashboard.looking import HEIGHT, WIDTH, ask, fits, said, tab_to
from tests.doors.http.dashboard.test_archives import manifest, plan
from tests.doors.http.dashboard.test_xss_browser import ALIEN, HEARS, Looked
from tests.doors.http.dashboard.visiting import known
from tests.doors.http.serving import serving
from tests.stores.crowds import Crowd
from tests.stores.crowds import fill as crowd
from tests.timing import timed

pytestmark = pytest.mark.xdist_group("browser")
TOO_PALE = (Path(__file__).parent / "contrast.js").read_text()
SOON = 2000
PAGES = ((), ("consumers",), ("topics",), ("schedules",), ("archives",), ("health",), ("messages",))
NOBODY = f"</title><img src=x onerror=window.{MARK}=1>"
"""The name of a token."""


@pytest.fixture
def emails(mq: Client) -> Client:
    """A queue with something in every state, and more than a page of what is ready."""
    queue = mq.queue("emails", max_attempts=3)
    mq.queue("payments")
    queue.push_many([{"to": f"user{number}"} for number in range(60)])
    done, dead, _held = queue.claim(limit=3)
    done.ack()
    dead.kill("no such address")
    mq.schedule("nightly", queue="emails", cron="0 3 * * *", payload={"to": "all"})
    return mq


@pytest.fixture
def shelves(tmp_path: Path) -> dict[str, Any]:
    """An archive with batches of hostile queues, and reports in folders with hostile names."""
    lake = Lake(str(tmp_path / "lake"))
    lake.prepare()
    batches = Batches(lake)
    for number, text in enumerate(TEXTS):
        name = f"20260501-{number:03}"
        batches.plan(plan(name, text[:200]))
        batches.save(manifest(name, queue=text[:200]))
        folder = tmp_path / "reports" / text.replace("/", "_")[:60]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.html").write_text("<h1>RowMQ report</h1>", encoding="utf-8")
    return {"archive": str(tmp_path / "lake"), "reports": str(tmp_path / "reports")}


@contextmanager
def listening(browser: Browser, url: str) -> Iterator[Looked]:
    """A browser that hears whatever should not be."""
    with browser.new_context(base_url=url) as context:
        found = Looked(context.new_page(), url)
        found.page.expose_function("told", found.hear)
        found.page.add_init_script(HEARS)
        found.page.on("dialog", found.close)
        found.page.on("console", lambda each: found.listen(each.text))
        found.page.on("pageerror", lambda error: found.hear(f"error: {error}"))
        found.page.on("request", lambda request: found.ask(request.url))
        yield found


def test_nothing_runs_on_any_other_page(browser: Browser, shelves: dict[str, Any]) -> None:
    with connect("memory://") as mq:
        fill(mq)
        with serving(mq, **shelves) as url, listening(browser, url) as looked:
            for path in (*PAGES, ("login",)):
                looked.at(*path)
            for text in TEXTS[::12]:
                for part in ((), ("consumers",), ("schedules",)):
                    looked.at(*part, q=text)


def test_nothing_runs_where_one_logs_in_nor_of_the_name_of_a_token(browser: Browser, tmp_path: Path) -> None:
    with connect("memory://") as mq:
        fill(mq)
        with (
            serving(mq, **known(tmp_path, **{NOBODY: {"read": ["*"]}})) as url,
            listening(browser, url) as looked,
        ):
            for text in TEXTS[::6]:
                looked.page.goto(url + link("login", next=text))
                looked.check(text)
            looked.page.fill("#token", NOBODY)
            looked.page.keyboard.press("Enter")
            expect(looked.page.locator("h1")).to_have_text("Queues")
            expect(looked.page.locator(".who")).to_contain_text(NOBODY)
            for path in PAGES:
                looked.at(*path)


@timed
def test_a_queue_s_page_changes_within_two_seconds(emails: Client, page: Page) -> None:
    page.goto(link("queues", "emails"))
    ready = page.locator(f"#{key('emails')}-ready")
    expect(page.locator("#pulse")).to_have_text("Live")
    expect(ready).to_have_text("57")
    emails.queue("emails").push(1)
    expect(ready).to_have_text("58", timeout=SOON)


def test_a_crowded_queue_s_page_changes_too(browser: Browser, tmp_path: Path) -> None:
    with connect(f"sqlite:///{tmp_path}/crowd.db") as mq:
        crowd(mq.store, "crowd", Crowd(waiting=200_000))  # type: ignore[arg-type]
        with serving(mq) as url, browser.new_context(base_url=url) as context:
            page = context.new_page()
            page.goto(link("queues", "crowd"))
            expect(page.locator("#pulse")).to_have_text("Live")
            ready = page.locator(f"#{key('crowd')}-ready")
            expect(ready).to_have_text("200,000")
            mq.queue("crowd").push(1)
            expect(ready).to_have_text("200,001")


def test_a_schedule_is_paused_resumed_and_pushed(emails: Client, page: Page) -> None:
    page.goto(link("schedules"))
    ask(page, "Pause")
    said(page, "paused schedule nightly")
    page.locator("summary.button", has_text="Resume").first.click()
    page.locator("details.ask[open] form button").first.click()
    expect(page.locator("main > p.notice:not(.stale)")).to_contain_text("resumed schedule nightly: it fires")
    assert not emails.schedules()[0].paused
    before = emails.queue("emails").stats().ready
    ask(page, "Push now")
    expect(page.locator("main > p.notice:not(.stale)")).to_contain_text("pushed the message of schedule")
    assert emails.queue("emails").stats().ready == before + 1


def test_a_schedule_is_paused_and_resumed_on_its_queue_s_page(emails: Client, page: Page) -> None:
    page.goto(link("queues", "emails"))
    for label, sentence in (("Pause", "paused schedule nightly"), ("Resume", "resumed schedule nightly")):
        page.goto(link("queues", "emails"))
        panel = page.locator("section", has=page.locator("#schedules"))
        panel.locator("summary.button", has_text=label).click()
        panel.locator("details.ask[open] form button").first.click()
        expect(page.locator("main > p.notice:not(.stale)")).to_contain_text(sentence)
    assert not emails.schedules()[0].paused


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_other_page_is_narrow_and_can_be_read(
    emails: Client, browser: Browser, shelves: dict[str, Any], tmp_path: Path, scheme: str
) -> None:
    """Archives with batches and reports, finding a message, what says no, and the login."""
    size = ViewportSize(width=WIDTH, height=HEIGHT)
    tokens = known(tmp_path, ada={"read": ["*"]})
    with (
        serving(emails, **shelves) as url,
        serving(emails, **tokens) as closed,
        browser.new_context(viewport=size, color_scheme=scheme) as context,  # type: ignore[arg-type]
    ):
        page = context.new_page()
        for address in (
            *(url + link(*path) for path in (("archives",), ("messages",), ("queues", "nowhere"))),
            url + link("messages", id="no id"),
            closed + link("login"),
        ):
            page.goto(address)
            assert fits(page), address
            assert page.evaluate(TOO_PALE) == [], address
            assert page.evaluate(ALIEN) == [], address


def test_a_redrive_and_a_binding_are_done_by_keyboard(emails: Client, page: Page) -> None:
    page.goto(link("queues", "emails"))
    tab_to(page, "details.ask:has(form[action$='/redrive']) > summary")
    page.keyboard.press("Enter")
    expect(page.locator("#redrive-to")).to_be_focused()
    page.keyboard.type("payments")
    page.keyboard.press("Enter")
    said(page, "redrove 1 message of emails to payments")
    tab_to(page, "details.ask:has(form[action$='/bind']) > summary", 200)
    page.keyboard.press("Enter")
    expect(page.locator("#bind-topic")).to_be_focused()
    page.keyboard.type("news")
    page.keyboard.press("Enter")
    said(page, "bound emails to news")
    tab_to(page, "details.ask:has(form[action$='/unbind']) > summary", 200)
    page.keyboard.press("Enter")
    expect(page.locator("form[action$='/unbind'] .buttons button:first-child")).to_be_focused()
    page.keyboard.press("Enter")
    said(page, "unbound emails from news")


def test_a_list_is_paged_and_a_message_moved_by_keyboard(emails: Client, page: Page) -> None:
    page.goto(link("queues", "emails", "ready"))
    tab_to(page, "a[rel=next]", 200)
    page.keyboard.press("Enter")
    page.wait_for_url("**place=*")
    expect(page.locator("table.list tbody tr")).to_have_count(7)
    tab_to(page, "th.message a", 200)
    page.keyboard.press("Enter")
    page.wait_for_url("**/messages/**")
    tab_to(page, "details.ask:has(form[action$='/move']) > summary")
    page.keyboard.press("Enter")
    expect(page.locator("#move-to")).to_be_focused()
    page.keyboard.type("payments")
    page.keyboard.press("Enter")
    expect(page.locator("main > p.notice:not(.stale)")).to_contain_text("from emails to payments")
    assert emails.queue("payments").stats().ready == 1


def test_a_message_is_gone_to_from_the_head_of_a_page_by_keyboard(emails: Client, page: Page) -> None:
    id = str(emails.store.history.find("emails").records[0].id)
    page.goto(link("health"))
    page.keyboard.press("/")
    expect(page.locator("#go-id")).to_be_focused()
    page.keyboard.type(id)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/messages/{id}")
