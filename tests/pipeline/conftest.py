"""One Spark session for all tests, and empty stores to read and write.

Tests that take `spark` run in the same test process, so that only one of them starts a JVM; those that kill
other drivers, which takes as long again, in another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rowmq
from rowmq.core.errors import MissingDependency
from rowmq.pipeline import register, session
from rowmq.pipeline.session import check_java
from rowmq.runtime.log import logger
from tests.pipeline.quick import JAVA, QUICK
from tests.servers import ServerMissingError, skip_or_fail

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks for groups, also if only this directory is tested
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep what needs Spark in two processes of pytest-xdist."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            group = "spark faults" if item.path.stem.endswith("faults") else "spark"
            item.add_marker(pytest.mark.xdist_group(group))
            if item.get_closest_marker("timeout") is None:  # a busy machine takes long to start a JVM
                item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(autouse=True)
def _logger_as_it_was() -> Iterator[None]:
    """Puts the logger back after a command that was run in this process."""
    before = logger.handlers[:], logger.level, logger.propagate
    yield
    logger.handlers[:], logger.level, logger.propagate = before


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    try:
        check_java()
    except MissingDependency as missing:
        skip_or_fail(ServerMissingError(str(missing)))
    folder = tmp_path_factory.mktemp("spark")
    settings = QUICK | {
        "spark_driver_extraJavaOptions": f"{JAVA} -Dderby.system.home={folder}",
        "spark_sql_warehouse_dir": str(folder / "warehouse"),
        "spark_local_dir": str(folder / "local"),
    }
    made = session("local[2]", name="tests", **settings)
    register(made)
    yield made
    made.stop()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'queue.db'}"


@pytest.fixture(params=("sqlite", "postgres"))
def store_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty store with its tables: SQLite and PostgreSQL."""
    return _made(request, request.param)


@pytest.fixture(params=("sqlite", "postgres", "mysql"))
def sql_store_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty store with its tables: every SQL database."""
    return _made(request, request.param)


@pytest.fixture(params=("sqlite", "postgres", "mysql", "redis"))
def any_store_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty store with its tables, of each kind that other processes can use."""
    return _made(request, request.param)


def _made(request: pytest.FixtureRequest, kind: str) -> str:
    url: str = request.getfixturevalue(f"{kind}_url")
    rowmq.connect(url).close()
    return url
