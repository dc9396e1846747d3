"""The fixtures `url` and `mq`: each test runs on SQLite and on PostgreSQL, each time on an empty store."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import rowmq
from tests.servers import fresh_postgres_schema
from tests.stores.places import ServerPlace


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("seeds") / "template.db"
    rowmq.connect(f"sqlite:///{path}").close()
    return path


@pytest.fixture(scope="session")
def migrated_schema(postgres_server_url: str) -> Iterator[tuple[str, ServerPlace]]:
    with fresh_postgres_schema(postgres_server_url) as url:
        place = ServerPlace(url)
        yield url, place
        place.leave()


@pytest.fixture
def sqlite_url(migrated_file: Path, tmp_path: Path) -> str:
    path = tmp_path / "queue.db"
    shutil.copyfile(migrated_file, path)
    return f"sqlite:///{path}"


@pytest.fixture
def emptied_postgres_url(migrated_schema: tuple[str, ServerPlace]) -> str:
    url, place = migrated_schema
    place.open()
    return url


@pytest.fixture(params=["sqlite_url", "emptied_postgres_url"], ids=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def mq(url: str) -> Iterator[rowmq.Client]:
    with rowmq.connect(url) as mq:
        yield mq
