"""A store, its server, and a real browser to look at it with."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from rowmq.runtime.client import Client, connect
from tests.doors.http.dashboard.visiting import Visitor
from tests.doors.http.serving import serving
from tests.servers import ServerMissingError, skip_or_fail


@pytest.fixture
def mq() -> Iterator[Client]:
    """A client of a store of its own."""
    with connect("memory://") as mq:
        yield mq


@pytest.fixture
def url(mq: Client) -> Iterator[str]:
    """Where the store's dashboard is, for everybody."""
    with serving(mq) as url:
        yield url


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
