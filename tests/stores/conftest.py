"""The fixture `store`: each test that takes it runs on every store, each time on an empty one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.servers import fresh_mysql_database, fresh_postgres_schema
from tests.stores.places import (
    MemoryPlace,
    Place,
    RedisPlace,
    RemotePlace,
    ServerPlace,
    SQLitePlace,
    opened,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rowmq.core.store import Store


@pytest.fixture(scope="session")
def memory_place() -> Place:
    return MemoryPlace()


@pytest.fixture(scope="session")
def sqlite_place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return SQLitePlace(tmp_path_factory.mktemp("sqlite"))


@pytest.fixture(scope="session")
def postgres_place(postgres_server_url: str) -> Iterator[Place]:
    with fresh_postgres_schema(postgres_server_url) as url:
        place = ServerPlace(url)
        yield place
        place.leave()


@pytest.fixture(scope="session")
def mysql_place(mysql_server_url: str) -> Iterator[Place]:
    with fresh_mysql_database(mysql_server_url) as url:
        place = ServerPlace(url)
        yield place
        place.leave()


@pytest.fixture(scope="session")
def redis_place(redis_server_url: str) -> Place:
    return RedisPlace(redis_server_url)


@pytest.fixture(scope="session")
def remote_place() -> Iterator[Place]:
    place = RemotePlace()
    yield place
    place.leave()


# To add a store, write the fixture of its place above and name it here.
SQL_STORES = ("sqlite", "postgres", "mysql")
STORES = ("memory", *SQL_STORES, "redis", "remote")


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(f"{request.param}_place")
    return found


@pytest.fixture(params=SQL_STORES)
def sql_place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(f"{request.param}_place")
    return found


@pytest.fixture
def store(place: Place) -> Iterator[Store]:
    with opened(place) as store:
        yield store


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'queue.db'}"


@pytest.fixture(params=("sqlite", "postgres", "mysql"))
def sql_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database of each kind, without tables."""
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


@pytest.fixture(params=("sqlite", "postgres", "mysql", "redis"))
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty place that many processes can use at once, of each kind."""
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found
