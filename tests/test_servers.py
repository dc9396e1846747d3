"""The test servers themselves: private, empty where they should be, and gone afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import psycopg
import pymysql
import pytest
import redis
from sqlalchemy.engine import make_url

from tests import servers
from tests.servers import (
    PORTS,
    Kind,
    Server,
    SessionServers,
    connect_mysql,
    connect_postgres,
    connect_redis,
    free_port,
    fresh_mysql_database,
    fresh_postgres_schema,
    fresh_redis_prefix,
)

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent


def postgres_value(url: str, query: str) -> object:
    with connect_postgres(url) as connection:
        row = connection.execute(query.encode()).fetchone()
    return row and row[0]


def mysql_value(url: str, query: str) -> object:
    with connect_mysql(url) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        row = cursor.fetchone()
    return row and row[0]


def test_a_fresh_schema_is_empty_and_gone_afterwards(postgres_server_url: str) -> None:
    with fresh_postgres_schema(postgres_server_url) as url:
        schema = postgres_value(url, "SELECT current_schema()")
        tables = f"SELECT count(*) FROM pg_tables WHERE schemaname = '{schema}'"
        assert postgres_value(url, tables) == 0
        with connect_postgres(url) as connection:
            connection.execute("CREATE TABLE something (id int)")
        assert postgres_value(url, tables) == 1
    schemas = f"SELECT count(*) FROM pg_namespace WHERE nspname = '{schema}'"
    assert postgres_value(postgres_server_url, schemas) == 0


def test_a_fresh_database_is_empty_and_gone_afterwards(mysql_server_url: str) -> None:
    with fresh_mysql_database(mysql_server_url) as url:
        database = mysql_value(url, "SELECT database()")
        tables = f"SELECT count(*) FROM information_schema.tables WHERE table_schema = '{database}'"
        assert mysql_value(url, tables) == 0
        with connect_mysql(url) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE something (id int)")
        assert mysql_value(url, tables) == 1
    databases = f"SELECT count(*) FROM information_schema.schemata WHERE schema_name = '{database}'"
    assert mysql_value(mysql_server_url, databases) == 0


def test_a_fresh_prefix_is_empty_and_gone_afterwards(redis_server_url: str) -> None:
    with fresh_redis_prefix(redis_server_url) as url, connect_redis(url) as connection:
        pattern = f"{{{parse_qs(urlsplit(url).query)['prefix'][0]}}}:*"
        assert connection.keys(pattern) == []
        connection.mset({pattern.replace("*", str(number)): 1 for number in range(20_000)})
        connection.set("theirs", 1)
    with connect_redis(redis_server_url) as connection:
        assert connection.keys(pattern) == []
        assert connection.delete("theirs") == 1


def test_the_fixtures_lead_to_places_of_their_own(postgres_url: str, mysql_url: str) -> None:
    schema = postgres_value(postgres_url, "SELECT current_schema()")
    assert isinstance(schema, str)
    assert schema.startswith("rowmq_test_")
    assert make_url(postgres_url).query["options"] == f"-csearch_path={schema}"
    assert mysql_value(mysql_url, "SELECT database()") == make_url(mysql_url).database


def test_a_driver_name_and_options_already_in_the_url_are_kept(postgres_server_url: str) -> None:
    server_url = postgres_server_url.replace("postgresql://", "postgresql+psycopg://")
    separator = "&" if urlsplit(server_url).query else "?"
    with fresh_postgres_schema(f"{server_url}{separator}options=-cwork_mem%3D2MB") as url:
        assert url.startswith("postgresql+psycopg://")
        assert postgres_value(url, "SHOW work_mem") == "2MB"
        assert str(postgres_value(url, "SELECT current_schema()")).startswith("rowmq_test_")


def test_a_schema_is_dropped_even_when_the_test_fails(postgres_server_url: str) -> None:
    place = fresh_postgres_schema(postgres_server_url)
    schema = postgres_value(place.__enter__(), "SELECT current_schema()")
    failure = ZeroDivisionError()
    assert not place.__exit__(ZeroDivisionError, failure, None)
    schemas = f"SELECT count(*) FROM pg_namespace WHERE nspname = '{schema}'"
    assert postgres_value(postgres_server_url, schemas) == 0


def test_a_picked_port_is_free_and_out_of_the_clients_range() -> None:
    port = free_port()
    assert port in PORTS
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))


def test_a_port_in_use_is_not_picked(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        taken, free = listener.getsockname()[1], free_port()
        monkeypatch.setattr("tests.servers.random.sample", lambda _ports, _count: [taken, free])
        assert free_port() == free


def listening_addresses(port: int) -> set[str]:
    """Return the local addresses listened on at a port, as the kernel writes them."""
    tables = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
    rows = [line.split() for table in tables if table.exists() for line in table.read_text().splitlines()[1:]]
    return {
        row[1].partition(":")[0]
        for row in rows
        if row[3] == "0A" and int(row[1].partition(":")[2], 16) == port
    }


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads the kernel's table of listeners")
@pytest.mark.parametrize("fixture", ["own_postgres", "own_mariadb"])
def test_a_server_listens_on_loopback_only_and_survives_a_kill(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(fixture)
    assert listening_addresses(server.port) == {"0100007F"}
    value = postgres_value if fixture == "own_postgres" else mysql_value
    create = {"own_postgres": create_postgres, "own_mariadb": create_mysql}[fixture]
    url = server.url
    create(url)

    server.kill()
    assert listening_addresses(server.port) == set()
    with pytest.raises((psycopg.Error, pymysql.Error)):
        value(url, "SELECT 1")

    server.restart()
    assert server.url == url
    assert value(url, "SELECT count(*) FROM kept") == 1
    server.restart()
    assert value(url, "SELECT count(*) FROM kept") == 1


def test_redis_listens_on_loopback_only_and_survives_a_kill(own_redis: Server) -> None:
    assert listening_addresses(own_redis.port) == {"0100007F"}
    with connect_redis(own_redis.url) as connection:
        connection.set("kept", 1)
        own_redis.kill()
        with pytest.raises(redis.ConnectionError):
            connection.get("kept")
        own_redis.restart()
        assert connection.get("kept") == b"1"


def create_postgres(url: str) -> None:
    with connect_postgres(url) as connection:
        connection.execute("CREATE TABLE kept (id int)")
        connection.execute("INSERT INTO kept VALUES (1)")


def create_mysql(url: str) -> None:
    with connect_mysql(url) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE kept (id int) ENGINE=InnoDB")
        cursor.execute("INSERT INTO kept VALUES (1)")


def test_a_closed_server_leaves_nothing_behind(own_postgres: Server) -> None:
    process = own_postgres.process
    assert process is not None
    own_postgres.close()
    assert process.returncode is not None
    assert not own_postgres.directory.exists()
    own_postgres.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
def test_a_server_ends_when_its_starter_is_killed() -> None:
    try:
        servers.PostgresServer().close()
    except servers.ServerMissingError as missing:
        servers.skip_or_fail(missing)
    script = (
        "import sys, tests.servers as s\n"
        "with s.postgres_server() as server:\n"
        "    print(server.process.pid, server.directory, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        pid, directory = starter.stdout.readline().split()
        assert servers._alive(int(pid))
        starter.send_signal(signal.SIGKILL)
    try:
        assert servers._wait_until(lambda: not servers._alive(int(pid)), 20)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


MISSING: list[tuple[Kind, str]] = [
    ("postgres", "find_postgres"),
    ("mysql", "find_mariadb"),
    ("redis", "find_redis"),
]


@pytest.fixture
def without_servers(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that hides one kind of server program, and every server running already."""
    for variable in (*SessionServers.given.values(), *SessionServers.handed_on.values()):
        monkeypatch.delenv(variable, raising=False)

    def hide(finder: str) -> None:
        monkeypatch.setattr(servers, finder, lambda: None)

    return hide


def ask_for(kind: Kind) -> None:
    try:
        SessionServers().url(kind)
    except servers.ServerMissingError as missing:
        servers.skip_or_fail(missing)


@pytest.mark.parametrize(("kind", "finder"), MISSING)
def test_a_missing_server_fails_under_ci(
    kind: Kind, finder: str, without_servers: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    without_servers(finder)
    with pytest.raises(pytest.fail.Exception, match="is not installed"):
        ask_for(kind)


@pytest.mark.parametrize(("kind", "finder"), MISSING)
def test_a_missing_server_skips_elsewhere(
    kind: Kind, finder: str, without_servers: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    without_servers(finder)
    with pytest.raises(pytest.skip.Exception, match="install the package"):
        ask_for(kind)


def test_servers_named_by_the_environment_are_used_and_none_is_started(
    without_servers: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = SessionServers()
    for kind, finder in MISSING:
        without_servers(finder)
        monkeypatch.setenv(SessionServers.given[kind], f"{kind}://somewhere/else")
    session.start_all()
    assert [session.url(kind) for kind, _ in MISSING] == [
        "postgres://somewhere/else",
        "mysql://somewhere/else",
        "redis://somewhere/else",
    ]
    assert not session._started
    session.close()
    assert os.environ["TEST_POSTGRES_DSN"] == "postgres://somewhere/else"
