"""The page of a queue in a real browser: every action, by mouse, by keyboard, without script, on a phone."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from rowmq.core.outcome import State
from rowmq.doors.http.dashboard.links import link
from rowmq.runtime.client import Client
from tests.doors.http.dashboard.looking import WIDTH, ask, fits, said, tab_to

pytestmark = pytest.mark.xdist_group("browser")
TOO_PALE = (Path(__file__).parent / "contrast.js").read_text()


@pytest.fixture
def emails(mq: Client) -> Client:
    """A queue with something in every state."""
    queue = mq.queue("emails", max_attempts=3)
    mq.queue("payments")
    queue.push_many([{"to": f"user{number}"} for number in range(9)], metadata={"lang": "en"})
    queue.push({"to": "later"}, delay=3600)
    done, dead, _held = queue.claim(limit=3)
    done.ack()
    dead.kill("no such address")
    mq.schedule("nightly", queue="emails", cron="0 3 * * *")
    return mq


def test_every_action_of_a_queue_works_by_mouse(emails: Client, page: Page) -> None:
    page.goto(link("queues", "emails"))
    ask(page, "Pause")
    said(page, "paused emails")
    ask(page, "Resume")
    said(page, "resumed emails")
    page.locator("summary.button", has_text="Redrive").click()
    page.fill("#redrive-to", "payments")
    page.locator("details.ask[open] form button.primary").click()
    said(page, "redrove 1 message of emails to payments")
    page.locator("summary.button", has_text="Bind").click()
    page.fill("#bind-topic", "news")
    page.keyboard.press("Enter")
    said(page, "bound emails to news")
    ask(page, "Unbind")
    said(page, "unbound emails from news")
    page.locator("summary.button", has_text="Purge").click()
    page.select_option("#purge-state", "scheduled")
    page.locator("details.ask[open] form button.danger").click()
    said(page, "purged 1 scheduled message of emails")
    left = emails.queue("emails").stats()
    assert (left.ready, left.scheduled, left.leased, left.dead) == (6, 0, 1, 0)


def test_nothing_is_done_before_it_is_confirmed(emails: Client, page: Page) -> None:
    page.goto(link("queues", "emails"))
    page.locator("summary.button", has_text="Purge").click()
    page.locator("details.ask[open] [data-close]").click()
    expect(page.locator("details.ask[open]")).to_have_count(0)
    page.locator("summary.button", has_text="Purge").click()
    page.keyboard.press("Escape")
    expect(page.locator("details.ask[open]")).to_have_count(0)
    assert emails.queue("emails").stats().ready == 6


def test_settings_are_edited_in_their_place(emails: Client, page: Page) -> None:
    page.goto(link("queues", "emails"))
    shown = page.locator(".settings .shown")
    expect(shown).to_be_visible()
    page.locator("summary", has_text="Edit").click()
    expect(shown).to_be_hidden()
    page.locator("#setting-lease").fill("soon")
    page.locator("#setting-tags").fill("team=mail\non=call")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#setting-lease-wrong")).to_have_text(re.compile("^'soon' is not a span of time"))
    assert page.locator("#setting-lease").get_attribute("aria-invalid") == "true"
    expect(page.locator("#setting-lease")).to_be_focused()
    assert emails.queue("emails").settings().tags == {}
    page.locator("#setting-lease").fill("90s")
    page.get_by_role("button", name="Save").click()
    said(page, "changed lease, tags of emails")
    assert "1m30s" in page.locator(".settings .shown").inner_text()
    assert emails.queue("emails").settings().tags == {"team": "mail", "on": "call"}


def test_everything_works_by_keyboard_and_shows_where_it_is(emails: Client, page: Page) -> None:
    page.goto(link("queues", "emails"))
    tab_to(page, "summary.button.danger")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("#purge-state")).to_be_focused()
    page.keyboard.press("d")  # the first of its choices that begins so
    page.keyboard.press("ArrowDown")
    tab_to(page, "details.ask[open] button.danger")
    page.keyboard.press("Enter")
    said(page, "purged 1 dead message of emails")
    tab_to(page, ".edit > summary")
    page.keyboard.press("Enter")
    tab_to(page, "#setting-delay")
    page.keyboard.press("Control+A")
    page.keyboard.type("5s")
    page.keyboard.press("Enter")
    said(page, "changed delay of emails")
    tab_to(page, ".tabs a[href$='/dead']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/dead")
    assert page.title() == "emails · RowMQ"


def test_everything_works_without_script(emails: Client, bare: Page) -> None:
    bare.goto(link("queues", "emails"))
    ask(bare, "Pause")
    said(bare, "paused emails")
    ask(bare, "Resume")
    ask(bare, "Redrive")
    said(bare, "redrove 1 message of emails")
    bare.locator("summary", has_text="Edit").click()
    bare.locator("#setting-lease").fill("90s")
    bare.get_by_role("button", name="Save").click()
    said(bare, "changed lease of emails")
    ask(bare, "Purge")
    said(bare, "purged 8 waiting messages of emails")
    bare.locator(".tabs a", has_text="Leased").click()
    assert bare.locator("table.list tbody tr").count() == 1


def test_a_list_is_searched_and_leads_to_its_messages(emails: Client, page: Page) -> None:
    page.goto(link("queues", "emails", "ready"))
    page.fill("#find-where-1", "lang=de")
    page.keyboard.press("Enter")
    page.wait_for_url("**where=lang*")
    assert "No ready message is like that" in page.locator(".messages").inner_text()
    page.get_by_role("link", name="All of them").click()
    page.wait_for_url("**/ready")
    page.keyboard.press("/")
    expect(page.locator("#go-id")).to_be_focused()
    id = page.locator("th.message a").first.inner_text()
    page.keyboard.type(id)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/messages/{id}")
    page.goto(link("queues", "emails", "failed"))
    page.get_by_label("Text in an error").fill("NO SUCH")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=NO*")
    assert page.locator("td.error bdi").all_inner_texts() == ["no such address"]


def test_the_pages_fit_a_phone(emails: Client, phone: Page) -> None:
    emails.queue("x" * 255).push({"wide": "w" * 400})
    for name, tab in (("emails", ""), ("emails", "dead"), ("x" * 255, ""), ("x" * 255, "ready")):
        phone.goto(link("queues", name, *([tab] if tab else [])))
        assert fits(phone), (name[:9], tab)
    phone.goto(link("queues", "emails"))
    phone.locator("summary.button", has_text="Purge").tap()
    box = phone.locator("details.ask[open] form").bounding_box()
    assert box is not None
    assert 0 <= box["x"] <= box["x"] + box["width"] <= WIDTH
    phone.locator("details.ask[open] form button.danger").tap()
    said(phone, "purged 7 waiting messages of emails")


def test_everything_can_be_read_in_light_and_dark(emails: Client, browser: Browser, url: str) -> None:
    (dead,) = emails.store.history.find("emails", state=State.DEAD).records
    paths = (link("queues", "emails"), link("queues", "emails", "dead"), link("messages", dead.id))
    for scheme in ("light", "dark"):
        with browser.new_context(base_url=url, color_scheme=scheme) as context:
            page = context.new_page()
            for path in paths:
                page.goto(path)
                page.eval_on_selector_all("details:not(.ask)", "each => each.forEach(one => one.open = true)")
                assert page.evaluate(TOO_PALE) == [], (scheme, path)


def test_counts_stay_current(emails: Client, page: Page) -> None:
    page.goto(link("queues", "emails"))
    expect(page.locator("#pulse")).to_have_text("Live")
    emails.queue("emails").push_many(range(5))
    expect(page.locator(".tiles .ready dd")).to_have_text("11")


def test_the_page_has_landmarks_labels_and_one_heading(emails: Client, page: Page) -> None:
    page.goto(link("queues", "emails"))
    page.locator("summary", has_text="Edit").click()
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('main input:not([type=hidden]), main select, main textarea')]
            .filter(each => !each.labels.length).map(each => each.outerHTML)"""
    )
    assert unnamed == []
    ids = page.eval_on_selector_all("[id]", "each => each.map(one => one.id)")
    assert len(ids) == len(set(ids))
    assert page.locator("h1").count() == 1
    assert page.locator("main").count() == 1
    assert page.eval_on_selector_all("main table th", "each => each.every(one => one.scope)")
