"""A store, its server, and a real browser to look at it with."""

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect, sync_playwright

from rowmq.runtime.client import Client, connect
from tests.doors.http.dashboard.looking import HEIGHT, PATIENCE, WIDTH
from tests.doors.http.dashboard.visiting import Visitor
from tests.doors.http.serving import serving
from tests.servers import ServerMissingError, skip_or_fail

Serving = AbstractContextManager[str]
expect.set_options(timeout=PATIENCE)  # or it gives a busy machine five seconds, whatever pages are given


@pytest.fixture
def mq() -> Iterator[Client]:
    """A client of a store of its own."""
    with connect("memory://") as mq:
        yield mq


@pytest.fixture(scope="module")
def leaving() -> Iterator[list[Serving]]:
    """Servers that no test asks any more: each takes a moment to stop, so they do that together."""
    servers: list[Serving] = []
    yield servers
    with ThreadPoolExecutor(max(1, len(servers))) as pool:
        list(pool.map(lambda server: server.__exit__(None, None, None), servers))


@pytest.fixture
def url(mq: Client, leaving: list[Serving]) -> str:
    """Where the store's dashboard is, for everybody."""
    server = serving(mq)
    leaving.append(server)
    return server.__enter__()


@pytest.fixture
def visitor(url: str) -> Iterator[Visitor]:
    """Somebody who may do everything."""
    with Visitor(url) as visitor:
        yield visitor


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium. One a module: two at once would be in each other's event loop."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        skip_or_fail(ServerMissingError("Chromium is not installed: apt install chromium"))
    sandbox = os.geteuid() != 0  # Chromium has none for root
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, chromium_sandbox=sandbox)
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser, url: str) -> Iterator[Page]:
    """A page of the dashboard, as wide as a desk's."""
    with browser.new_context(base_url=url) as context:
        yield _patient(context)


@pytest.fixture
def bare(browser: Browser, url: str) -> Iterator[Page]:
    """The same without script."""
    with browser.new_context(base_url=url, java_script_enabled=False) as context:
        yield _patient(context)


@pytest.fixture
def phone(browser: Browser, url: str) -> Iterator[Page]:
    """The same on a phone."""
    size = ViewportSize(width=WIDTH, height=HEIGHT)
    with browser.new_context(base_url=url, viewport=size, has_touch=True, is_mobile=True) as context:
        yield _patient(context)


def _patient(context: BrowserContext) -> Page:
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    return page
