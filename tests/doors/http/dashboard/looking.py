"""What visitors with a real browser do on every page."""

import re

from playwright.sync_api import Page, expect

WIDTH, HEIGHT = 360, 740
"""Of a phone."""
PATIENCE = 30_000


def ask(page: Page, label: str) -> None:
    """Open what asks before it does something, and have it do that."""
    page.locator("summary.button", has_text=re.compile(rf"^{label}$")).first.click()
    page.locator("details.ask[open] form button").first.click()


def said(page: Page, sentence: str) -> None:
    """The page that an action leads to says what it did."""
    expect(page.locator("main > p.notice:not(.stale)")).to_have_text(sentence)
    page.wait_for_load_state()


def tab_to(page: Page, selector: str, most: int = 80) -> None:
    """Go on with the Tab key until the focus is there."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"the Tab key does not come to {selector}")


def fits(page: Page) -> bool:
    """Whether nothing on the page is wider than a phone."""
    width: int = page.evaluate("document.documentElement.scrollWidth")
    return width <= WIDTH
