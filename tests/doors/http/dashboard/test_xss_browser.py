"""Hostile text in all that can be shown: in a real browser nothing of it runs, and nothing is loaded."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from rowmq.core.outcome import State
from rowmq.doors.http.dashboard.links import link
from rowmq.doors.http.dashboard.words import visible
from rowmq.runtime.client import Client, connect
from tests.doors.http.dashboard.hostile import MARK, NAMES, TEXTS, fill
from tests.doors.http.serving import serving

pytestmark = pytest.mark.xdist_group("browser")
HEARS = """
    addEventListener('securitypolicyviolation', event => told(`policy: ${event.violatedDirective}`));
    addEventListener('DOMContentLoaded', () => {
        document.querySelectorAll('details').forEach(each => each.open = true);
        document.querySelectorAll('a, summary, input, button').forEach(each => {
            each.focus();
            each.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
        });
    });
"""
ADVICE = ("status of 422", "Autofocus processing was blocked", "[DOM] Password forms should have")
ALIEN = """() => {
    const leads = ['href', 'src', 'action', 'formaction', 'data', 'xlink:href'];
    const ours = value => value === '' || /^[/#]/.test(value);
    const isAlien = ({name, value}) =>
        /^(on|style$|srcdoc$)/.test(name) || (leads.includes(name) && !ours(value));
    const every = [...document.querySelectorAll('*')];
    const things = 'iframe, object, embed, style, base, meta[http-equiv], script:not([src]), math, video';
    return every.flatMap(each => [...each.attributes].filter(isAlien).map(one => `${one.name}=${one.value}`))
        .concat([...document.querySelectorAll(things)].map(each => each.outerHTML));
}"""
"""Whatever is on the page that none of our templates has."""


@dataclass
class Looked:
    """A browser that opens pages, and what it heard of anything that should not be."""

    page: Page
    url: str
    heard: list[str] = field(default_factory=list)

    def at(self, *path: object, **query: object) -> None:
        """Open the page there and shake it: nothing may come of that."""
        answer = self.page.goto(self.url + link(*path, **query), wait_until="load")
        assert answer is not None
        assert answer.status == 200, path
        self.check(path)

    def check(self, where: object) -> None:
        """Nothing has run, nothing was loaded from elsewhere, nothing is on the page that is not ours."""
        assert self.page.evaluate(f"window.{MARK}") is None, where
        assert self.page.evaluate(ALIEN) == [], where
        assert self.heard == [], where

    def hear(self, said: str) -> None:
        """Something that should not be."""
        self.heard.append(said)

    def listen(self, said: str) -> None:
        """What the console says; it may say a page's own status, who has the focus, and give advice."""
        if not any(each in said for each in ADVICE):
            self.hear(f"console: {said}")

    def close(self, dialog: Dialog) -> None:
        """A dialog that should not be."""
        self.hear(f"dialog: {dialog.message}")
        dialog.dismiss()

    def ask(self, address: str) -> None:
        """A request; it should be to ourselves."""
        if not address.startswith(self.url):
            self.hear(f"request: {address}")


@pytest.fixture(scope="module")
def hostile() -> Iterator[Client]:
    """A store in which every text is hostile."""
    with connect("memory://") as mq:
        fill(mq)
        yield mq


@pytest.fixture(scope="module")
def at(hostile: Client) -> Iterator[str]:
    """Where it is served."""
    with serving(hostile) as url:
        yield url


@pytest.fixture
def looked(browser: Browser, at: str) -> Iterator[Looked]:
    """A browser that listens."""
    with browser.new_context() as context:
        found = Looked(context.new_page(), at)
        found.page.expose_function("told", found.hear)
        found.page.add_init_script(HEARS)
        found.page.on("dialog", found.close)
        found.page.on("console", lambda said: found.listen(said.text))
        found.page.on("pageerror", lambda error: found.hear(f"error: {error}"))
        found.page.on("request", lambda request: found.ask(request.url))
        yield found


def test_what_listens_hears_a_text_that_runs(looked: Looked) -> None:
    looked.at("queues", "victim")
    looked.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x: onerror=alert(1)>')")
    looked.page.wait_for_timeout(50)
    assert [each for each in looked.heard if each.startswith(("policy:", "console:"))]
    assert looked.page.evaluate(ALIEN)


def test_nothing_runs_on_the_page_of_a_queue(looked: Looked) -> None:
    for path in (
        ("victim",),
        ("victim", "ready"),
        ("victim", "leased"),
        ("victim", "done"),
        ("victim", "failed"),
    ):
        looked.at("queues", *path)
    for name in NAMES[::8]:
        looked.at("queues", name)
    assert looked.page.title() == f"{visible(NAMES[::8][-1])} · RowMQ"


def test_nothing_runs_on_the_list_of_a_queue(looked: Looked) -> None:
    for name in NAMES[::3]:
        looked.at("queues", name, "dead")
        assert looked.page.locator("h1").inner_text().strip() == " ".join(visible(name).split())


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.soak) for part in (1, 2))])
def test_nothing_runs_on_the_page_of_any_message(looked: Looked, hostile: Client, part: int) -> None:
    for name in (*NAMES[part::3], "controls"):
        for record in hostile.store.history.find(name, limit=10).records:
            looked.at("messages", record.id)
    finished = hostile.store.history.find("victim", state=State.DONE, limit=3).records
    for record in finished:
        looked.at("messages", record.id)


def test_nothing_runs_that_is_searched_for(looked: Looked) -> None:
    for place in range(0, len(TEXTS), 9):
        where = [f"a={text}" for text in TEXTS[place : place + 9]]
        looked.at("queues", "controls", "ready", where=where)
    for text in TEXTS[::4]:
        looked.at("queues", "controls", "failed", text=text)
        looked.page.goto(looked.url + link("messages", id=text))
        assert looked.page.locator("#find-id").input_value() == text.replace("\n", "").replace("\r", "")
        assert looked.page.evaluate(ALIEN) == []


def test_nothing_runs_in_what_an_action_says(looked: Looked) -> None:
    for name in NAMES[::9]:
        looked.at("queues", name)
        looked.page.locator("form[action$='/pause'] button").first.evaluate("each => each.click()")
        notice = looked.page.locator("main > p.notice:not(.stale)")
        expect(notice).to_have_text(f"paused {visible(name)}")
        looked.check(name)


def test_nothing_runs_in_what_is_said_beside_a_field(looked: Looked) -> None:
    for name in NAMES[1::9]:
        looked.at("queues", "controls")
        looked.page.locator("#setting-lease").fill(name)
        looked.page.locator(".edit form button").evaluate("each => each.click()")
        expect(looked.page.locator("#setting-lease-wrong")).to_contain_text("is not a span of time")
        looked.check(name)
