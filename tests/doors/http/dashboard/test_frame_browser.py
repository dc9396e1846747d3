"""The dashboard in a real browser: live, by keyboard, in the dark, on a phone, and with nothing run in it."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, expect

from rowmq.doors.http.access import Tokens
from rowmq.doors.http.dashboard.links import link
from rowmq.doors.http.dashboard.words import key
from rowmq.pipeline.reporting.page import page as report_page
from rowmq.runtime.client import Client
from tests.doors.http.asked import token_text, write_tokens
from tests.doors.http.dashboard.test_frame import HOSTILE
from tests.doors.http.dashboard.visiting import known
from tests.doors.http.serving import serving
from tests.pipeline.figures_sample import figures
from tests.servers import free_port
from tests.timing import timed

pytestmark = pytest.mark.xdist_group("browser")
SOON = 2000
PAGES = ("", "consumers", "topics", "schedules", "archives", "health")
TOO_PALE = (Path(__file__).parent / "contrast.js").read_text()


@pytest.fixture
def busy(mq: Client) -> Client:
    """A store with something on every page."""
    for name in ("emails", "orders"):
        queue = mq.queue(name)
        queue.push_many([1, 2, 3, 4])
        queue.push(5, delay=3600)
        done, dead = queue.claim(limit=2)
        done.ack()
        dead.kill("no such address")
        mq.topic("order.created").subscribe(name)
        mq.schedule(f"{name} nightly", queue=name, cron="0 3 * * *")
        mq.store.consumers.beat(name, f"worker of {name}", timedelta(minutes=5))
    mq.queue("paused", paused=True)
    return mq


@pytest.fixture
def context(browser: Browser, url: str) -> Iterator[BrowserContext]:
    with browser.new_context(base_url=url) as context:
        yield context


@pytest.fixture
def opened(context: BrowserContext) -> Page:
    return context.new_page()


def listen(page: Page, url: str) -> list[str]:
    """Everything that must not be: messages of the console, errors, dialogs, and requests to elsewhere."""
    said: list[str] = []
    here = urlsplit(url).netloc
    page.on("console", lambda message: said.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))

    def refuse(dialog: Dialog) -> None:
        said.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("dialog", refuse)
    page.on(
        "request",
        lambda request: said.append(request.url) if urlsplit(request.url).netloc != here else None,
    )
    return said


def address(part: str) -> str:
    return link(part) if part else link()


def focused(page: Page) -> str:
    found: str = page.evaluate("document.activeElement.textContent.trim() || document.activeElement.id")
    return found


def tab_to(page: Page, text: str, most: int = 60) -> None:
    """Go on with the Tab key until the focus is on what says this."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if focused(page) == text:
            return
    raise AssertionError(f"the Tab key does not come to {text}")


@timed
def test_what_happens_is_seen_within_two_seconds_without_a_reload(busy: Client, opened: Page) -> None:
    opened.goto("/")
    opened.evaluate("window.marked = true")
    ready, dead = (opened.locator(f"#{key('emails')}-{part}") for part in ("ready", "dead"))
    expect(ready).to_have_text("2")
    expect(opened.locator("#pulse")).to_have_text("Live")
    busy.queue("emails").push(5)
    expect(ready).to_have_text("3", timeout=SOON)
    expect(opened.locator("#total-ready")).to_have_text("5", timeout=SOON)
    busy.queue("emails").claim()[0].kill("again")
    expect(dead).to_have_text("2", timeout=SOON)
    expect(dead).to_have_class(re.compile("alarm"))
    assert opened.evaluate("window.marked")


def test_a_queue_that_is_made_appears_by_itself(mq: Client, opened: Page) -> None:
    opened.goto("/")
    expect(opened.locator("text=There is no queue yet")).to_be_visible()
    expect(opened.locator("#pulse")).to_have_text("Live")
    mq.queue("emails").push(1)
    expect(opened.locator(f"#{key('emails')}-ready")).to_have_text("1")


def test_nobody_who_is_typing_loses_what_he_typed(busy: Client, opened: Page) -> None:
    opened.goto("/")
    expect(opened.locator("#pulse")).to_have_text("Live")
    opened.locator("#q").press_sequentially("ord")
    busy.queue("another")
    expect(opened.locator("#stale")).to_be_visible()
    assert opened.locator("#q").input_value() == "ord"
    opened.locator("#stale a").click()
    expect(opened.locator("a.name", has_text="another")).to_be_visible()


def test_a_server_that_comes_back_is_watched_again(mq: Client, browser: Browser) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        port = free_port()
        with serving(mq, port=port) as url:
            page.goto(url)
            expect(page.locator("#pulse")).to_have_text("Live")
        expect(page.locator("#pulse")).to_have_text("Not connected: trying again")
        with serving(mq, port=port):
            expect(page.locator("#pulse")).to_have_text("Live")


@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 1280),
        ("dark", 360),
        pytest.param("dark", 1280, marks=pytest.mark.soak),
        pytest.param("light", 360, marks=pytest.mark.soak),
    ],
)
def test_every_page_is_quiet_wide_enough_and_can_be_read(
    busy: Client, browser: Browser, url: str, scheme: str, width: int
) -> None:
    with browser.new_context(
        base_url=url,
        color_scheme=scheme,  # type: ignore[arg-type] # one of those it takes
        viewport={"width": width, "height": 800},
    ) as context:
        for part in PAGES:
            page = context.new_page()
            said = listen(page, url)
            page.goto(address(part))
            assert page.evaluate("document.documentElement.scrollWidth") <= width, part
            assert page.evaluate(TOO_PALE) == [], part
            assert said == [], part
            page.close()


def test_dark_and_light_are_told_apart(browser: Browser, url: str) -> None:
    colours = set()
    for scheme in ("light", "dark"):
        with browser.new_context(base_url=url, color_scheme=scheme) as context:
            page = context.new_page()
            page.goto("/")
            colours.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2


def test_hostile_names_run_nowhere(mq: Client, context: BrowserContext, url: str) -> None:
    for name in HOSTILE:
        mq.queue(name).push(1)
        mq.topic(name).subscribe(name)
        mq.schedule(name, queue=name, every=60, payload=name)
        mq.store.consumers.beat(name, name, timedelta(minutes=5))
    page = context.new_page()
    said = listen(page, url)
    for part in PAGES:
        page.goto(address(part))
        page.set_viewport_size({"width": 360, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, part
    page.goto(link())
    for name in HOSTILE[4:12:2]:
        page.locator(f"th:has(#{key(name)}-paused) a").click()
        expect(page.locator("h1")).to_be_visible()
        assert page.locator(f"#{key(name)}-ready").count() == 1, name
        page.go_back()
    assert said == []


def test_the_whole_of_it_can_be_done_by_keyboard(busy: Client, opened: Page) -> None:
    opened.goto("/")
    opened.keyboard.press("Tab")
    assert focused(opened) == "Skip to the content"
    opened.keyboard.press("Enter")
    opened.keyboard.press("/")
    assert focused(opened) == "q"
    opened.keyboard.type("order")
    opened.keyboard.press("Enter")
    expect(opened.locator("tbody a.name")).to_have_count(1)
    tab_to(opened, "Schedules")
    opened.keyboard.press("Enter")
    expect(opened.locator("h1")).to_contain_text("Schedules")
    tab_to(opened, "Pause")
    style = opened.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert (focused(opened), style) == ("Pause", "solid")
    opened.keyboard.press("Enter")
    does = opened.locator("form.asked:visible button.primary")
    expect(does).to_be_focused()
    opened.keyboard.press("Tab")
    assert focused(opened) == "Cancel"
    opened.keyboard.press("Tab")
    expect(does).to_be_focused()
    opened.keyboard.press("Escape")
    assert opened.locator("details[open]").count() == 0
    assert opened.evaluate("document.activeElement.matches('summary')")
    opened.keyboard.press("Enter")
    expect(does).to_be_focused()
    opened.keyboard.press("Enter")
    expect(opened.locator("main > .notice").first).to_have_text("paused schedule emails nightly")
    assert busy.schedules()[0].paused


def test_an_action_asks_once_and_a_second_thought_changes_nothing(busy: Client, opened: Page) -> None:
    opened.goto(link("schedules"))
    opened.locator("summary", has_text="Delete").first.click()
    opened.locator("form.asked:visible [data-close]").click()
    opened.locator("summary", has_text="Delete").first.click()
    opened.mouse.click(3, 600)
    assert opened.locator("details[open]").count() == 0
    assert len(busy.schedules()) == 2
    opened.locator("summary", has_text="Delete").first.click()
    opened.locator("form.asked:visible button.danger").click()
    expect(opened.locator("main > .notice").first).to_have_text("deleted schedule emails nightly")
    assert len(busy.schedules()) == 1
    opened.reload()
    expect(opened.locator("main > .notice:not([hidden])")).to_have_count(0)


def test_everything_works_without_script(busy: Client, browser: Browser, url: str) -> None:
    with browser.new_context(base_url=url, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto("/")
        assert page.locator(f"#{key('emails')}-ready").inner_text() == "2"
        page.fill("#q", "order")
        page.locator("button", has_text="Find").click()
        assert page.locator("tbody a.name").all_inner_texts() == ["orders"]
        page.goto(link("topics"))
        page.locator("summary", has_text="Unbind").first.click()
        page.locator("details[open] form button.danger").click()
        assert page.locator("main > .notice").first.inner_text().startswith("unbound")
    assert busy.store.topics.bindings() == [("order.created", "orders")]


def test_one_logs_in_looks_and_logs_out(busy: Client, browser: Browser, tmp_path: Path) -> None:
    with (
        serving(busy, **known(tmp_path, ada={"read": ["emails"]})) as url,
        browser.new_context(base_url=url) as context,
    ):
        page = context.new_page()
        page.goto(link("queues", "emails"))
        page.fill("#token", "wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#why")).to_have_text("this token is not one we know")
        page.fill("#token", "ada")
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{url}/ui/queues/emails")
        assert page.evaluate("document.cookie") == ""
        page.goto("/")
        assert page.locator("tbody a.name").all_inner_texts() == ["emails"]
        assert page.locator("nav[aria-label=Pages] a").all_inner_texts() == [
            "Queues",
            "Consumers",
            "Topics",
            "Schedules",
        ]
        for part in ("", "queues/emails", "consumers", "topics", "schedules"):
            page.goto(f"/ui/{part}")
            assert page.locator("main summary.button, main form[method=post]").count() == 0, part
        page.locator("text=Log out").click()
        expect(page.locator("text=You are logged out")).to_be_visible()
        page.goto("/")
        expect(page.locator("#token")).to_be_visible()


def test_who_is_shown_the_door_sees_it(mq: Client, browser: Browser, tmp_path: Path) -> None:
    path = write_tokens(tmp_path / "tokens.toml", token_text("ada", "ada", None, read=["*"]))
    access = Tokens(path)
    with (
        serving(mq, access=access, secret=access.secret) as url,
        browser.new_context(base_url=url) as context,
    ):
        page = context.new_page()
        page.goto("/")
        page.fill("#token", "ada")
        page.keyboard.press("Enter")
        expect(page.locator("#pulse")).to_have_text("Live")
        write_tokens(path, token_text("bob", "bob", None, read=["*"]))
        expect(page.locator("#token")).to_be_visible()


def test_a_link_from_elsewhere_leads_to_the_page_with_ones_session(
    busy: Client, browser: Browser, tmp_path: Path
) -> None:
    with (
        serving(busy, **known(tmp_path, ada={"read": ["*"]})) as url,
        browser.new_context(base_url=url) as context,
    ):
        page = context.new_page()
        page.goto("/")
        page.fill("#token", "ada")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Queues")
        elsewhere = f'<a href="{url}/ui/queues/emails">look</a>'
        page.route(
            "http://elsewhere.test/", lambda route: route.fulfill(body=elsewhere, content_type="text/html")
        )
        page.goto("http://elsewhere.test/")
        page.locator("a").click()
        expect(page).to_have_url(f"{url}/ui/queues/emails")
        expect(page.locator("h1")).to_contain_text("emails")


def test_a_page_of_elsewhere_cannot_act_or_read(busy: Client, browser: Browser, url: str) -> None:
    form = f'<form method="post" action="{url}/ui/queues/emails/purge"><button>go</button></form>'
    with browser.new_context() as context:
        page = context.new_page()
        page.route("http://elsewhere.test/", lambda route: route.fulfill(body=form, content_type="text/html"))
        page.goto("http://elsewhere.test/")
        read = "url => fetch(url, {credentials: 'include'}).then(() => 'read', () => 'refused')"
        assert page.evaluate(read, f"{url}/ui") == "refused"
        page.locator("button").click()
        expect(page.locator("body")).to_contain_text("a page of another origin may not ask this server")
    assert busy.queue("emails").stats().ready == 2


def test_a_report_is_shown_as_it_was_made(mq: Client, browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "reports" / "today").mkdir(parents=True)
    (tmp_path / "reports" / "today" / "report.html").write_text(
        report_page(figures(HOSTILE[0])), encoding="utf-8"
    )
    with (
        serving(mq, reports=str(tmp_path / "reports")) as url,
        browser.new_context(base_url=url) as context,
    ):
        page = context.new_page()
        said = listen(page, url)
        page.goto(link("archives"))
        page.locator("a.name", has_text="today").click()
        expect(page.locator("h1")).to_have_text("RowMQ report")
        assert page.evaluate("getComputedStyle(document.querySelector('figure svg')).width") != "auto"
        assert page.locator("figure svg").first.bounding_box()["width"] > 300  # type: ignore[index]
        assert said == []
