"""The fixture `mq`: each test that takes it runs with a client on memory, SQLite, PostgreSQL and Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rowmq

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'queue.db'}"


@pytest.fixture(params=("sqlite", "postgres"))
def url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database."""
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


@pytest.fixture(params=("memory", "sqlite", "postgres", "redis"))
def mq(request: pytest.FixtureRequest) -> Iterator[rowmq.Client]:
    url = "memory://" if request.param == "memory" else request.getfixturevalue(f"{request.param}_url")
    with rowmq.connect(url) as client:
        yield client


@pytest.fixture
def memory() -> Iterator[rowmq.Client]:
    with rowmq.connect("memory://") as client:
        yield client
