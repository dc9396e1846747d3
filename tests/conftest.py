"""Fixtures that give a test its own empty place on a real database server.

- `postgres_url`, `mysql_url`, `redis_url`: the URL of a fresh, empty schema, database or prefix, dropped
  after the test;
- `postgres_server_url`, `mysql_server_url`, `redis_server_url`: the server the session shares, as its
  administrator;
- `own_postgres`, `own_mariadb`, `own_redis`: a server of the test's own, which it may kill and restart.

TEST_POSTGRES_DSN, TEST_MYSQL_DSN and TEST_REDIS_DSN name servers to use instead of private ones.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from httpx._config import DEFAULT_TIMEOUT_CONFIG
from hypothesis import HealthCheck, settings

from tests.servers import (
    Kind,
    Server,
    ServerMissingError,
    SessionServers,
    fresh_mysql_database,
    fresh_postgres_schema,
    fresh_redis_prefix,
    mariadb_server,
    postgres_server,
    redis_server,
    skip_or_fail,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_SERVERS = SessionServers()
# What runs in the background of a shell is started with SIGINT ignored, and so would be whatever the tests
# start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Who does not say how long it waits for an answer would wait five seconds, which a busy machine may take.
DEFAULT_TIMEOUT_CONFIG.read = DEFAULT_TIMEOUT_CONFIG.connect = 30.0
# The same examples each time, however long one takes; what looks for new ones is soak.
settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Start the servers ahead of the worker processes, which share them.

    Without workers nothing is started here: the first test that needs a server starts it.
    """
    options = session.config.option
    starts_workers = getattr(options, "dist", "no") != "no" and not hasattr(session.config, "workerinput")
    if starts_workers and not options.collectonly:
        _SERVERS.start_all()


def pytest_unconfigure() -> None:
    """Stop the servers this process started; a worker has started none."""
    _SERVERS.close()


def _session_url(kind: Kind) -> str:
    try:
        return _SERVERS.url(kind)
    except ServerMissingError as missing:
        skip_or_fail(missing)


# gRPC would look after its threads in each process that is started from here, and at times brings it down.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")


@pytest.fixture(scope="session")
def postgres_server_url() -> str:
    return _session_url("postgres")


@pytest.fixture(scope="session")
def mysql_server_url() -> str:
    return _session_url("mysql")


@pytest.fixture(scope="session")
def redis_server_url() -> str:
    return _session_url("redis")


@pytest.fixture
def postgres_url(postgres_server_url: str) -> Iterator[str]:
    with fresh_postgres_schema(postgres_server_url) as url:
        yield url


@pytest.fixture
def mysql_url(mysql_server_url: str) -> Iterator[str]:
    with fresh_mysql_database(mysql_server_url) as url:
        yield url


@pytest.fixture
def redis_url(redis_server_url: str) -> Iterator[str]:
    with fresh_redis_prefix(redis_server_url) as url:
        yield url


@pytest.fixture
def own_postgres() -> Iterator[Server]:
    try:
        with postgres_server() as server:
            yield server
    except ServerMissingError as missing:
        skip_or_fail(missing)


@pytest.fixture
def own_mariadb() -> Iterator[Server]:
    try:
        with mariadb_server() as server:
            yield server
    except ServerMissingError as missing:
        skip_or_fail(missing)


@pytest.fixture
def own_redis() -> Iterator[Server]:
    try:
        with redis_server() as server:
            yield server
    except ServerMissingError as missing:
        skip_or_fail(missing)
