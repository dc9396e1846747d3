"""Private database servers for tests and benchmarks.

A server here has its own temporary directory and its own loopback port, so a database already running on
the machine is never touched, and it ends with the process that started it.

- `private_postgres()`, `private_mariadb()` and `private_redis()` start one and yield its URL;
- `postgres_server()`, `mariadb_server()` and `redis_server()` yield the `Server` itself, which can be killed
  and restarted;
- `fresh_postgres_schema(url)`, `fresh_mysql_database(url)` and `fresh_redis_prefix(url)` yield the URL of an
  empty place on a server;
- `SessionServers` holds the servers that one whole test session shares.

Start servers from the main thread: the kernel ends a server with the thread that started it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pwd
import random
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

import psycopg
import pymysql
import pytest
import redis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Kind = Literal["postgres", "mysql", "redis"]

START_SECONDS = 60.0
STOP_SECONDS = 20.0
POLL_SECONDS = 0.02
START_ATTEMPTS = 3

# Below the range from which systems hand out ports to clients, so that no client takes a server's port
# while that server restarts.
PORTS = range(20_000, 32_000)


class ServerMissingError(Exception):
    """The programs of a database server are not on this machine."""


class ServerFailedError(Exception):
    """A server did not start; the message ends with what it logged."""


# ---- finding the programs -------------------------------------------------------------------------------


def find_postgres() -> Path | None:
    """Find the directory of `postgres` and `initdb`; Debian keeps them off the PATH, one per version."""
    on_path = shutil.which("postgres")
    candidates = [Path(on_path).resolve().parent] if on_path else []
    packaged = Path("/usr/lib/postgresql").glob("*/bin")
    candidates += sorted(packaged, key=lambda path: _version(path.parent.name), reverse=True)
    return next(
        (path for path in candidates if (path / "postgres").exists() and (path / "initdb").exists()), None
    )


def find_mariadb() -> tuple[Path, Path] | None:
    """Find `mariadbd`, which an ordinary account's PATH may leave out, and `mariadb-install-db`."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/bin"])
    server, installer = shutil.which("mariadbd", path=path), shutil.which("mariadb-install-db", path=path)
    return (Path(server), Path(installer)) if server and installer else None


def find_redis() -> Path | None:
    """Find `redis-server`."""
    found = shutil.which("redis-server")
    return Path(found) if found else None


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))


def skip_or_fail(missing: ServerMissingError) -> NoReturn:
    """Skip where a developer may lack a server; fail where the tests must prove something."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"{missing} (CI=true, so this is a failure)", pytrace=False)
    pytest.skip(str(missing))


# ---- one server -----------------------------------------------------------------------------------------


def free_port() -> int:
    """Pick a loopback port that nothing listens on."""
    for port in random.sample(PORTS, 100):
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise ServerFailedError("no free port found")


class Server(ABC):
    """A server process with its own directory and port.

    The directory is made at once and removed by `close`. Database servers refuse to run as root, so under
    root the directory is given to another account and the programs run as that account.
    """

    name: ClassVar[str]
    account: ClassVar[str]
    stop_signal: ClassVar[signal.Signals]

    def __init__(self) -> None:
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        self._setup: subprocess.Popen[bytes] | None = None
        self._identity = _unprivileged(self.account)
        self.directory = Path(tempfile.mkdtemp(prefix=f"rowmq-{self.name}-")).resolve()
        if self._identity:
            os.chown(self.directory, self._identity.pw_uid, self._identity.pw_gid)
        atexit.register(self.close)

    @property
    @abstractmethod
    def url(self) -> str:
        """The URL of the server, as its administrator."""

    @property
    def data(self) -> Path:
        """The directory the database itself lives in."""
        return self.directory / "data"

    @abstractmethod
    def _setup_command(self) -> list[str]: ...

    @abstractmethod
    def _run_command(self) -> list[str]: ...

    @abstractmethod
    def _answer(self) -> str:
        """Ask the server for its data directory: only the right answer shows that it is this server."""

    def begin_setup(self) -> None:
        """Start making the data directory, without waiting, so that servers can be set up together."""
        self._setup = self._spawn(self._setup_command())

    def finish_setup(self) -> None:
        """Wait for the data directory."""
        if self._setup is None:
            raise ServerFailedError("begin_setup was not called")
        if self._setup.wait(START_SECONDS) != 0:
            raise ServerFailedError(f"{self.name} could not be set up:\n{self._log_tail()}")

    def start(self) -> None:
        """Start on a port found free; another one is tried if somebody was quicker to take it."""
        for attempt in range(1, START_ATTEMPTS + 1):
            self.port = free_port()
            self._launch()
            try:
                self._await_answer()
            except ServerFailedError:
                ended = self.process is None or self.process.poll() is not None
                self.kill()
                if not ended or attempt == START_ATTEMPTS:
                    raise
            else:
                return

    def restart(self) -> None:
        """Start again on the same port, after an orderly stop if it still runs."""
        self.stop()
        self._launch()
        self._await_answer()

    def stop(self) -> None:
        """Stop in an orderly way, by force if that takes too long. A stopped server stays stopped."""
        if self.process is None:
            return
        self.process.send_signal(self.stop_signal)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self.process = None

    def kill(self) -> None:
        """SIGKILL the server and its children, and wait: what a crash of the machine would leave behind.

        The children are killed too because a PostgreSQL session in mid-query would outlive its server and
        keep it from starting again.
        """
        if self.process is None:
            return
        family = _children(self.process.pid)
        self.process.kill()
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(STOP_SECONDS)
        _wait_until(lambda: not any(_alive(pid) for pid in family), STOP_SECONDS)
        self.process = None

    def close(self) -> None:
        """Stop and remove the directory; harmless when done already."""
        if self._setup is not None and self._setup.poll() is None:
            self._setup.kill()
            self._setup.wait(STOP_SECONDS)
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)
        atexit.unregister(self.close)

    def _launch(self) -> None:
        self.process = self._spawn(self._run_command())

    def _spawn(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Run a program as the server's account, in a session of its own so that Ctrl-C passes it by."""
        who: dict[str, Any] = {}
        if self._identity:
            who = {"user": self._identity.pw_uid, "group": self._identity.pw_gid, "extra_groups": []}
        with (self.directory / "log").open("ab") as log:
            return subprocess.Popen(
                [*_dies_with_parent(self.stop_signal), *command],
                cwd=self.directory,
                env={"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.directory), "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **who,
            )

    def _await_answer(self) -> None:
        process = self.process
        if process is None:
            raise ServerFailedError(f"{self.name} is not running")

        def answered() -> bool:
            if process.poll() is not None:
                raise ServerFailedError(f"{self.name} ended while starting:\n{self._log_tail()}")
            with contextlib.suppress(psycopg.Error, pymysql.Error, redis.RedisError):
                return Path(self._answer()).resolve() == self.data
            return False

        if not _wait_until(answered, START_SECONDS):
            raise ServerFailedError(f"{self.name} does not answer:\n{self._log_tail()}")

    def _log_tail(self) -> str:
        return "\n".join((self.directory / "log").read_text(errors="replace").splitlines()[-20:])


class PostgresServer(Server):
    """PostgreSQL with its default durability."""

    name = "postgres"
    account = "postgres"
    stop_signal = signal.SIGINT  # the fast shutdown: SIGTERM would wait for every client to leave

    def __init__(self) -> None:
        programs = find_postgres()
        if programs is None:
            raise ServerMissingError("PostgreSQL is not installed: install the package postgresql")
        self._programs = programs
        super().__init__()

    @property
    def url(self) -> str:
        return f"postgresql://rowmq@127.0.0.1:{self.port}/postgres"

    def _setup_command(self) -> list[str]:
        return [
            str(self._programs / "initdb"),
            f"--pgdata={self.data}",
            "--username=rowmq",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
        ]

    def _run_command(self) -> list[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self.directory),
            "max_connections": "300",
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        return [str(self._programs / "postgres"), "-D", str(self.data), *options]

    def _answer(self) -> str:
        with connect_postgres(self.url) as connection:
            row = connection.execute("SHOW data_directory").fetchone()
        return str(row[0]) if row else ""


class PgBouncer(Server):
    """PgBouncer in transaction mode before a PostgreSQL server: a session is not the same one twice."""

    name = "pgbouncer"
    account = "postgres"
    stop_signal = signal.SIGINT

    def __init__(self, behind: Server) -> None:
        path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"])
        program = shutil.which("pgbouncer", path=path)
        if program is None:
            raise ServerMissingError("PgBouncer is not installed: install the package pgbouncer")
        self._program, self._behind = program, behind
        super().__init__()

    @property
    def url(self) -> str:
        return f"postgresql://rowmq@127.0.0.1:{self.port}/postgres"

    def _setup_command(self) -> list[str]:
        return ["true"]

    def _run_command(self) -> list[str]:
        settings = self.directory / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\npostgres = host=127.0.0.1 port={self._behind.port} user=rowmq\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
            "auth_type = any\npool_mode = transaction\ndefault_pool_size = 20\n"
        )
        return [self._program, str(settings)]

    def _answer(self) -> str:
        with connect_postgres(self.url) as connection:
            connection.execute("SELECT 1")
        return str(self.data)


class MariaDBServer(Server):
    """MariaDB with its default durability, and a small memory footprint unless other sizes are asked for."""

    name = "mariadb"
    account = "mysql"
    stop_signal = signal.SIGTERM

    def __init__(self, *, log: str = "48M", pool: str = "64M") -> None:
        programs = find_mariadb()
        if programs is None:
            raise ServerMissingError("MariaDB is not installed: install the package mariadb-server")
        self._mariadbd, self._installer = programs
        # Given to the set-up as well, which otherwise writes a log that the server then has to resize.
        self._sizes = (f"--innodb-log-file-size={log}", f"--innodb-buffer-pool-size={pool}")
        super().__init__()

    @property
    def url(self) -> str:
        return f"mysql://root@127.0.0.1:{self.port}/mysql"

    def _setup_command(self) -> list[str]:
        return [
            str(self._installer),
            "--no-defaults",
            f"--datadir={self.data}",
            f"--tmpdir={self.directory}",  # a server that starts empties a shared one
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--skip-name-resolve",
            *self._sizes,
        ]

    def _run_command(self) -> list[str]:
        return [
            str(self._mariadbd),
            "--no-defaults",
            f"--datadir={self.data}",
            f"--tmpdir={self.directory}",
            f"--socket={self.directory / 'socket'}",
            f"--pid-file={self.directory / 'pid'}",
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
            "--max-connections=500",
            "--innodb-flush-log-at-trx-commit=1",
            *self._sizes,
        ]

    def _answer(self) -> str:
        with connect_mysql(self.url) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT @@datadir")
            row = cursor.fetchone()
        return str(row[0]) if row else ""


class RedisServer(Server):
    """Redis whose every answered write is on the disk, unless a test asks for something else."""

    name = "redis"
    account = "redis"
    stop_signal = signal.SIGTERM

    def __init__(self, **settings: str) -> None:
        program = find_redis()
        if program is None:
            raise ServerMissingError("Redis is not installed: install the package redis-server")
        self._program = program
        self._settings = {"appendonly": "yes", "appendfsync": "always", "save": "", **settings}
        super().__init__()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def _setup_command(self) -> list[str]:
        return ["mkdir", str(self.data)]

    def _run_command(self) -> list[str]:
        settings = {
            "port": str(self.port),
            "bind": "127.0.0.1",
            "dir": str(self.data),
            "unixsocket": str(self.directory / "socket"),
            **self._settings,
        }
        options = [text for name, value in settings.items() for text in (f"--{name}", value)]
        return [str(self._program), *options]

    def _answer(self) -> str:
        with connect_redis(self.url) as connection:
            return str(connection.config_get("dir")["dir"])


def _unprivileged(account: str) -> pwd.struct_passwd | None:
    """Choose the account a server runs as: None, this one, unless this is root."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(account)
    except KeyError:
        return pwd.getpwnam("nobody")


def _dies_with_parent(last_signal: signal.Signals) -> list[str]:
    """Prefix a command so that the kernel ends it even when its parent is killed outright (Linux)."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", last_signal.name.removeprefix("SIG"), "--"] if setpriv else []


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:  # not Linux, or the process has just gone
        return []


def _alive(pid: int) -> bool:
    """Tell whether a process still runs; a zombie nobody has collected yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def _wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def start_together(servers: Sequence[Server]) -> None:
    """Set up and start several servers side by side, or none: a failure closes them all."""
    try:
        for server in servers:
            server.begin_setup()
        for server in servers:
            server.finish_setup()
            server.start()
    except BaseException:
        for server in servers:
            server.close()
        raise


# ---- servers for a while --------------------------------------------------------------------------------


@contextlib.contextmanager
def _running(server: Server) -> Iterator[Server]:
    start_together([server])
    try:
        yield server
    finally:
        server.close()


@contextlib.contextmanager
def postgres_server() -> Iterator[Server]:
    """Run a PostgreSQL of one's own, to be killed and restarted at will."""
    with _running(PostgresServer()) as server:
        yield server


@contextlib.contextmanager
def mariadb_server(**sizes: str) -> Iterator[Server]:
    """Run a MariaDB of one's own, to be killed and restarted at will."""
    with _running(MariaDBServer(**sizes)) as server:
        yield server


@contextlib.contextmanager
def redis_server(**settings: str) -> Iterator[Server]:
    """Run a Redis of one's own, to be killed and restarted at will."""
    with _running(RedisServer(**settings)) as server:
        yield server


@contextlib.contextmanager
def private_redis() -> Iterator[str]:
    """Run a Redis of one's own and yield its URL."""
    with redis_server() as server:
        yield server.url


@contextlib.contextmanager
def private_postgres() -> Iterator[str]:
    """Run a PostgreSQL of one's own and yield its URL."""
    with postgres_server() as server:
        yield server.url


@contextlib.contextmanager
def private_mariadb() -> Iterator[str]:
    """Run a MariaDB of one's own and yield its URL."""
    with mariadb_server() as server:
        yield server.url


# ---- an empty place on a server -------------------------------------------------------------------------


@contextlib.contextmanager
def fresh_postgres_schema(server_url: str) -> Iterator[str]:
    """Make an empty schema, yield the URL that leads into it, and drop it with all it holds."""
    schema = f"rowmq_test_{secrets.token_hex(6)}"
    _execute_postgres(server_url, f"CREATE SCHEMA {schema}")
    try:
        yield _with_search_path(server_url, schema)
    finally:
        # Bounded: a transaction a test left open fails that test, where it would otherwise hang here.
        _execute_postgres(server_url, "SET lock_timeout = '5s'", f"DROP SCHEMA {schema} CASCADE")


@contextlib.contextmanager
def fresh_mysql_database(server_url: str) -> Iterator[str]:
    """Make an empty database, yield its URL, and drop it."""
    database = f"rowmq_test_{secrets.token_hex(6)}"
    _execute_mysql(server_url, f"CREATE DATABASE {database} CHARACTER SET utf8mb4")
    try:
        yield urlunsplit(urlsplit(server_url)._replace(path=f"/{database}"))
    finally:
        _execute_mysql(server_url, "SET lock_wait_timeout = 5", f"DROP DATABASE {database}")


@contextlib.contextmanager
def fresh_redis_prefix(server_url: str) -> Iterator[str]:
    """Make up a prefix, yield the URL that leads to it, and delete its keys.

    Queues created there keep what is finished as long as they do in other stores.
    """
    prefix = f"rowmq_test_{secrets.token_hex(6)}"
    try:
        yield f"{server_url}?prefix={prefix}&retention=604800"
    finally:
        _delete_redis_keys(server_url, f"{{{prefix}}}:*")


def _delete_redis_keys(url: str, pattern: str) -> None:
    with connect_redis(url) as connection:
        cursor, keys = connection.scan(match=pattern, count=10_000)
        while cursor or keys:
            if keys:
                connection.unlink(*keys)
            if not cursor:
                break
            cursor, keys = connection.scan(cursor, match=pattern, count=10_000)


def connect_redis(url: str, timeout: float = 5.0) -> redis.Redis:
    """Connect by URL. For tests that look at the database directly."""
    client: redis.Redis = redis.Redis.from_url(url.partition("?")[0], socket_timeout=timeout)
    return client


def connect_postgres(url: str) -> psycopg.Connection:
    """Connect by URL, each statement its own transaction. For tests that look at the database directly."""
    return psycopg.connect(_plain_scheme(url), autocommit=True, connect_timeout=10)


def connect_mysql(url: str) -> pymysql.Connection[Any]:
    """Connect by URL, each statement its own transaction. For tests that look at the database directly."""
    parts = urlsplit(url)
    return pymysql.connect(
        host=parts.hostname or "127.0.0.1",
        port=parts.port or 3306,
        user=unquote(parts.username or "root"),
        password=unquote(parts.password or ""),
        database=parts.path.lstrip("/") or None,
        autocommit=True,
        connect_timeout=10,
    )


def _execute_postgres(url: str, *statements: str) -> None:
    with connect_postgres(url) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def _execute_mysql(url: str, *statements: str) -> None:
    with connect_mysql(url) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _plain_scheme(url: str) -> str:
    """Drop the driver name of a SQLAlchemy URL, which libpq does not know."""
    scheme, separator, rest = url.partition("://")
    return scheme.partition("+")[0] + separator + rest


def _with_search_path(url: str, schema: str) -> str:
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    query["options"] = f"{query.get('options', '')} -csearch_path={schema}".strip()
    # quote, not quote_plus: libpq takes a plus sign for a plus sign.
    return urlunsplit(parts._replace(query=urlencode(query, quote_via=quote)))


# ---- the servers of a test session ----------------------------------------------------------------------


class SessionServers:
    """The servers one test session shares, each started when first asked for.

    A URL is passed on through the environment, where worker processes started later find it.
    """

    given: ClassVar[dict[Kind, str]] = {
        "postgres": "TEST_POSTGRES_DSN",
        "mysql": "TEST_MYSQL_DSN",
        "redis": "TEST_REDIS_DSN",
    }
    handed_on: ClassVar[dict[Kind, str]] = {
        "postgres": "TEST_ROWMQ_POSTGRES_URL",
        "mysql": "TEST_ROWMQ_MYSQL_URL",
        "redis": "TEST_ROWMQ_REDIS_URL",
    }

    def __init__(self) -> None:
        self._started: dict[Kind, Server] = {}

    def url(self, kind: Kind) -> str:
        """Give the URL of the server: the one the environment names, else a private one's."""
        if known := self._known(kind):
            return known
        server = _new_server(kind)
        start_together([server])
        self._keep(kind, server)
        return server.url

    def start_all(self) -> None:
        """Start whatever is neither given nor missing: the tests that need a missing one report it."""
        fresh: dict[Kind, Server] = {}
        for kind in self.given:
            if self._known(kind) is None:
                with contextlib.suppress(ServerMissingError):
                    fresh[kind] = _new_server(kind)
        start_together(list(fresh.values()))
        for kind, server in fresh.items():
            self._keep(kind, server)

    def close(self) -> None:
        """Stop the servers this session started."""
        for kind, server in self._started.items():
            os.environ.pop(self.handed_on[kind], None)
            server.close()
        self._started.clear()

    def _known(self, kind: Kind) -> str | None:
        return os.environ.get(self.given[kind]) or os.environ.get(self.handed_on[kind])

    def _keep(self, kind: Kind, server: Server) -> None:
        self._started[kind] = server
        os.environ[self.handed_on[kind]] = server.url


def _new_server(kind: Kind) -> Server:
    if kind == "redis":  # most tests do not ask what survives, and waiting for the disk is most of their time
        return RedisServer(appendfsync="everysec")
    return PostgresServer() if kind == "postgres" else MariaDBServer()
