"""The page of a message in a real browser: every action, by mouse, keyboard, without script, on a phone."""

from pathlib import Path
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect

from rowmq.core.outcome import State
from rowmq.doors.http.dashboard.links import link
from rowmq.runtime.client import Client
from tests.doors.http.dashboard.looking import ask, fits, said, tab_to

pytestmark = pytest.mark.xdist_group("browser")
PAYLOAD = {"to": "ada", "items": [{"sku": "A-1", "price": 12.5}], "note": None}
TRACEBACK = 'Traceback (most recent call last):\n  File "send.py", line 7, in send\nValueError: no address\n'


@pytest.fixture
def id(mq: Client) -> str:
    """A message that has failed once."""
    mq.queue("payments")
    made = str(mq.queue("emails").push(PAYLOAD, metadata={"lang": "en"}))
    mq.queue("emails").claim()[0].retry(error=TRACEBACK, after=0)
    return made


def state_of(mq: Client, id: str) -> State | None:
    record = mq.get(UUID(id))
    return None if record is None else record.state


def test_every_action_of_a_message_works_by_mouse(mq: Client, page: Page, id: str) -> None:
    page.goto(link("messages", id))
    ask(page, "Kill")
    said(page, f"killed message {id} of emails")
    ask(page, "Retry now")
    said(page, f"made message {id} of emails ready again")
    page.locator("summary.button", has_text="Move").click()
    page.fill("#move-to", "payments")
    page.keyboard.press("Enter")
    said(page, f"moved message {id} from emails to payments")
    ask(page, "Drop")
    said(page, f"dropped message {id} of payments")
    assert state_of(mq, id) is None


def test_a_copy_is_edited_and_pushed(mq: Client, page: Page, id: str) -> None:
    page.goto(link("messages", id))
    page.get_by_text("Push an edited copy").click()
    assert '"price": 12.5' in page.locator("#copy-payload").input_value()
    page.fill("#copy-payload", '{"to": ')
    page.get_by_role("button", name="Push the copy").click()
    expect(page.locator("#copy-payload-wrong")).to_contain_text("the payload is not JSON")
    assert page.locator("#copy-payload").input_value() == '{"to": '
    page.fill("#copy-payload", '{"to": "grace"}')
    page.fill("#copy-queue", "payments")
    page.get_by_role("button", name="Push the copy").click()
    done = f"pushed a copy of message {id} to payments"
    expect(page.locator("main > p.notice:not(.stale)")).to_contain_text(done)
    (copy,) = mq.queue("payments").claim()
    assert (copy.payload, copy.metadata) == ({"to": "grace"}, {"lang": "en", "rowmq.copy_of": id})


def test_a_copy_that_was_not_edited_is_the_same_to_the_byte(mq: Client, page: Page) -> None:
    for payload in (PAYLOAD, "\u2028\n lines \r\n", b"\nfirst\nand\tlast\n", b"\x00\xff", b"\r\n", b""):
        id = mq.queue("emails").push(payload)
        page.goto(link("messages", id))
        page.get_by_text("Push an edited copy").click()
        page.get_by_role("button", name="Push the copy").click()
        expect(page.locator("main > p.notice:not(.stale)")).to_contain_text("pushed a copy")
        one, other = mq.queue("emails").claim(limit=2)
        assert (one.delivery.body, one.delivery.binary) == (other.delivery.body, other.delivery.binary)


def test_everything_works_without_script(mq: Client, bare: Page, id: str) -> None:
    bare.goto(link("messages", id))
    ask(bare, "Kill")
    said(bare, f"killed message {id} of emails")
    ask(bare, "Retry now")
    said(bare, f"made message {id} of emails ready again")
    bare.get_by_text("Push an edited copy").click()
    bare.get_by_role("button", name="Push the copy").click()
    expect(bare.locator("main > p.notice:not(.stale)")).to_contain_text("pushed a copy")
    bare.goto(link("messages", id))
    bare.locator("summary.button", has_text="Move").click()
    bare.fill("#move-to", "payments")
    bare.locator("details.ask[open] button.primary").click()
    said(bare, f"moved message {id} from emails to payments")
    ask(bare, "Drop")
    said(bare, f"dropped message {id} of payments")
    assert mq.queue("emails").stats().ready == 1


def test_everything_works_by_keyboard(mq: Client, page: Page, id: str) -> None:
    page.goto(link("messages", id))
    tab_to(page, "summary.button.danger")
    page.keyboard.press("Enter")
    expect(page.locator("details.ask[open] button.danger")).to_be_focused()
    page.keyboard.press("Enter")
    said(page, f"killed message {id} of emails")
    tab_to(page, "summary.button")
    page.keyboard.press("Space")
    page.keyboard.press("Escape")
    expect(page.locator("summary.button").first).to_be_focused()
    assert state_of(mq, id) is State.DEAD
    tab_to(page, ".tree summary")
    page.keyboard.press("Enter")
    expect(page.locator(".tree > details > ul")).to_be_hidden()
    tab_to(page, ".copy > summary")
    page.keyboard.press("Enter")
    tab_to(page, "#copy-priority")
    page.keyboard.press("Control+A")
    page.keyboard.type("8")
    page.keyboard.press("Enter")
    expect(page.locator("main > p.notice:not(.stale)")).to_contain_text("pushed a copy")
    assert mq.queue("emails").claim()[0].priority == 8


def test_a_payload_is_a_tree_whose_branches_close(page: Page, id: str) -> None:
    page.goto(link("messages", id))
    leaf = page.locator(".tree .leaf", has_text="sku")
    expect(leaf).to_be_visible()
    page.locator(".tree summary", has_text="items").click()
    expect(leaf).to_be_hidden()
    page.locator("details.more summary", has_text="As text").click()
    expect(page.locator("details.more pre").first).to_contain_text('{"to":"ada"')


def test_attempts_are_shown_with_their_tracebacks(page: Page, id: str) -> None:
    page.goto(link("messages", id))
    expect(page.locator(".attempts .error")).to_have_text("ValueError: no address")
    expect(page.locator(".attempts pre")).to_contain_text('File "send.py", line 7, in send')
    expect(page.locator(".attempts li")).to_have_count(1)


def test_a_payload_is_downloaded(mq: Client, page: Page, tmp_path: Path) -> None:
    id = mq.queue("emails").push(b"<script>alert(1)</script>")
    page.goto(link("messages", id))
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    download.value.save_as(tmp_path / "payload")
    assert (tmp_path / "payload").read_bytes() == b"<script>alert(1)</script>"
    assert download.value.suggested_filename == f"{id}.bin"


def test_the_page_fits_a_phone(mq: Client, phone: Page) -> None:
    wide = {"w" * 300: "v" * 3000, "deep": [[[[[[[[["x" * 90]]]]]]]]]}
    for payload in (wide, bytes(range(256)) * 4, "t" * 900, b"plain " * 99):
        id = mq.queue("emails").push(payload, metadata={"k" * 200: "v" * 900})
        mq.queue("emails").claim()[0].kill("E" * 500 + "\n" + "trace " * 200)
        phone.goto(link("messages", id))
        assert fits(phone), payload
    ask(phone, "Retry now")
    said(phone, f"made message {id} of emails ready again")


def test_what_was_changed_meanwhile_is_said(mq: Client, page: Page, id: str) -> None:
    page.goto(link("messages", id))
    mq.queue("emails").claim()[0].ack()
    ask(page, "Kill")
    said(page, f"nothing was done: message {id} is done by now, so kill does not apply")
    assert state_of(mq, id) is State.DONE


def test_fields_have_labels_and_ids_are_single(page: Page, id: str) -> None:
    page.goto(link("messages", id))
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('main input:not([type=hidden]), main select, main textarea')]
            .filter(each => !each.labels.length).map(each => each.outerHTML)"""
    )
    assert unnamed == []
    ids = page.eval_on_selector_all("[id]", "each => each.map(one => one.id)")
    assert len(ids) == len(set(ids))
