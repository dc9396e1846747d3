"""Servers that die, refuse, or whose last word is lost on the way."""

from __future__ import annotations

import threading
from contextlib import ExitStack, closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pymysql
import pytest

from rowmq.core.delivery import Settlement, Want
from rowmq.core.errors import OutcomeUnknown, RowMQError, StoreFull, StoreUnavailable
from rowmq.core.message import Batch, Pushed
from rowmq.core.outcome import ACK, Bury, Release, Retry, Settled
from rowmq.stores import open_store
from rowmq.stores.mysql.dialect import MySQLDialect
from rowmq.stores.postgres.dialect import PostgresDialect
from rowmq.stores.redis.scripts import script
from rowmq.stores.redis.store import RedisStore
from rowmq.stores.sql import floors
from rowmq.stores.sql.at_once import LARGEST
from rowmq.stores.sql.dialect import Trouble
from rowmq.stores.sql.store import SQLStore
from rowmq.testing.build import message, messages
from tests.servers import (
    Server,
    ServerMissingError,
    connect_redis,
    fresh_mysql_database,
    fresh_postgres_schema,
    fresh_redis_prefix,
    mariadb_server,
    postgres_server,
    redis_server,
    skip_or_fail,
)
from tests.stores.callers import Driven, connected
from tests.stores.proxy import proxied

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.core.message import Message
    from rowmq.core.store import Store
    from rowmq.stores.sql.dialect import Dialect
    from tests.stores.proxy import Cut, Proxy

pytestmark = pytest.mark.xdist_group("outages")
KINDS = {
    "postgres": (postgres_server, fresh_postgres_schema),
    "mysql": (mariadb_server, fresh_mysql_database),
    "redis": (redis_server, fresh_redis_prefix),
}
FRESH = {"postgres": fresh_postgres_schema, "mariadb": fresh_mysql_database, "redis": fresh_redis_prefix}


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server of this file's own, which a test may kill if it starts it again."""
    try:
        with KINDS[request.param][0]() as server:
            yield server
    except ServerMissingError as missing:
        skip_or_fail(missing)


@pytest.fixture
def url(server: Server) -> Iterator[str]:
    """An empty place on that server."""
    with FRESH[server.name](server.url) as url:
        yield url


def opened(url: str) -> Store:
    store = open_store(url)
    store.queues.put("q")
    if isinstance(store, RedisStore):  # what is not loaded yet would be sent twice
        for name in ("push", "claim", "settle", "publish"):
            store.server.ask("SCRIPT", "LOAD", script(name).text)
    return store


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(opened(url)) as store:
        yield store


def push(store: Store, *new: Message) -> Pushed:
    (answer,) = store.push([Batch("q", new)])
    assert isinstance(answer, Pushed), answer
    return answer


def used_by_many(store: Store, count: int) -> None:
    """Leave so many open connections in the store's pool."""
    with ExitStack() as stack:
        for _ in range(count if isinstance(store, RedisStore) else 0):
            stack.enter_context(store.server.connection())  # type: ignore[attr-defined]
        if not isinstance(store, SQLStore):
            return
        for _ in range(count):
            connection = stack.enter_context(closing(store.database.engine.raw_connection()))
            connection.cursor().execute("SELECT 1")
            connection.rollback()


def test_a_store_works_again_by_itself_after_its_server_was_killed_and_restarted(
    store: Store, server: Server
) -> None:
    used_by_many(store, 8)
    push(store, *messages(3))
    ((held, other),) = store.claim("q", [Want(limit=2)])
    server.kill()
    server.restart()
    assert store.settle([Settlement(held.receipt, ACK)]) == [Settled.SETTLED]
    push(store, message())
    assert store.extend([other.receipt], timedelta(minutes=5))[0] is not None
    assert len(store.claim("q", [Want(limit=5)])[0]) == 2


def test_a_store_whose_server_is_down_says_so_and_comes_back(store: Store, server: Server) -> None:
    used_by_many(store, 3)
    said = message()
    push(store, message())
    server.kill()
    calls = (
        lambda: store.push([Batch("q", [said])]),
        lambda: store.claim("q", [Want()]),
        lambda: store.queues.stats("q"),
        lambda: store.queues.put("q", {"paused": True}),
        store.history.sweep,
    )
    for call in calls:
        with pytest.raises(StoreUnavailable):
            call()
    server.restart()
    assert store.queues.stats("q").ready == 1
    push(store, said)
    assert len(store.claim("q", [Want(limit=5)])[0]) == 2


def test_a_consumer_that_waits_outlives_a_restart_of_the_server(store: Store, server: Server) -> None:
    store.wait(["q"], timedelta(milliseconds=1))
    server.kill()
    server.restart()
    for _ in range(100):
        if store.wait(["q"], timedelta(milliseconds=20)):
            break
        push(store, message())
    else:
        raise AssertionError("nobody was woken")


class Pusher(threading.Thread):
    """Pushes batches until it is stopped, and notes what it was told about each."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.told: dict[str, str] = {}
        self.enough = threading.Event()
        self.some = threading.Event()
        self._store = store

    def run(self) -> None:
        for number in range(100_000):
            if self.enough.is_set():
                return
            name = str(number)
            try:
                push(self._store, *messages(5, metadata={"batch": name}))
                self.told[name] = "pushed"
            except RowMQError as error:
                self.told[name] = type(error).__name__
                self.enough.wait(0.02)
            if number == 20:
                self.some.set()


def killed_while_pushing(store: Store, server: Server) -> dict[str, str]:
    """Kill and restart the server while somebody pushes, and return what they were told."""
    pusher = Pusher(store)
    pusher.start()
    try:
        assert pusher.some.wait(60)
        server.kill()
        server.restart()
        push(store, message(metadata={"batch": "last"}))
    finally:
        pusher.enough.set()
        pusher.join(60)
    return pusher.told


def test_nothing_that_was_acknowledged_is_lost_when_the_server_is_killed(
    store: Store, server: Server
) -> None:
    told = killed_while_pushing(store, server)
    first, last = store.history.bounds()
    stored: dict[str, int] = {}
    for record in store.history.scan(first, last, queue="q"):
        stored[record.metadata["batch"]] = stored.get(record.metadata["batch"], 0) + 1
    assert stored.pop("last") == 1
    assert set(stored.values()) == {5}
    assert {name for name, answer in told.items() if answer == "pushed"} <= set(stored)
    assert not {name for name, answer in told.items() if answer == "StoreUnavailable"} & set(stored)
    assert set(told.values()) <= {"pushed", "StoreUnavailable", "OutcomeUnknown"}


# ---- the reply to COMMIT is lost ---------------------------------------------------------------------------


@pytest.fixture
def wire(store: Store, url: str) -> Iterator[tuple[Store, Proxy]]:
    """The same store once more, behind a proxy."""
    assert store
    with proxied(url) as (way, proxy), closing(opened(way)) as far:
        yield far, proxy


BOTH = pytest.mark.parametrize("cut", ["reply", "request"])


@BOTH
@pytest.mark.parametrize("count", [3, LARGEST + 1], ids=["few", "many"])
def test_a_push_whose_commit_got_no_reply_is_repeated_and_stored_once(
    wire: tuple[Store, Proxy], store: Store, cut: Cut, count: int
) -> None:
    far, proxy = wire
    proxy.cut_next_commit(cut)
    answer = push(far, *messages(count))
    assert proxy.cuts == 1
    assert store.queues.stats("q").ready == count
    assert [record.seq for record in store.history.find("q", limit=count).records] == list(answer.seqs)


@BOTH
def test_a_push_with_keys_and_groups_whose_commit_got_no_reply_is_stored_once(
    wire: tuple[Store, Proxy], store: Store, cut: Cut
) -> None:
    far, proxy = wire
    proxy.cut_next_commit(cut)
    answer = push(far, message(key="k", group="g"), message(group="g"))
    assert proxy.cuts == 1
    assert store.queues.stats("q").ready == 2
    assert len(set(answer.ids)) == 2


@BOTH
def test_a_publication_whose_commit_got_no_reply_is_stored_once(
    wire: tuple[Store, Proxy], store: Store, cut: Cut
) -> None:
    far, proxy = wire
    store.topics.bind("t", "q")
    proxy.cut_next_commit(cut)
    assert far.topics.publish("t", messages(2)) == 1
    assert proxy.cuts == 1
    assert store.queues.stats("q").ready == 2


@BOTH
@pytest.mark.parametrize("idle", [False, True], ids=["first", "idle"])
def test_a_claim_whose_commit_got_no_reply_has_an_unknown_outcome(
    wire: tuple[Store, Proxy], store: Store, cut: Cut, idle: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    far, proxy = wire
    monkeypatch.setattr(floors, "SHARE", 0)
    if idle:
        assert far.claim("q", [Want()]) == [[]]
    push(store, message())
    proxy.cut_next_commit(cut)
    with pytest.raises(OutcomeUnknown):
        far.claim("q", [Want()])
    assert proxy.cuts == 1
    assert store.queues.stats("q").leased == (1 if cut == "reply" else 0)
    far.claim("q", [Want()])


@BOTH
def test_an_ack_whose_commit_got_no_reply_is_repeated_and_counts(
    wire: tuple[Store, Proxy], store: Store, cut: Cut
) -> None:
    far, proxy = wire
    push(store, *messages(2))
    (held,) = far.claim("q", [Want(limit=2)])
    proxy.cut_next_commit(cut)
    expected = Settled.REPEATED if cut == "reply" else Settled.SETTLED
    assert far.settle([Settlement(each.receipt, ACK) for each in held]) == [expected] * 2
    assert proxy.cuts == 1
    assert store.queues.stats("q").done == 2


@BOTH
@pytest.mark.parametrize("outcome", [Retry(error="no"), Release(), Bury()])
def test_another_settlement_whose_commit_got_no_reply_has_an_unknown_outcome(
    wire: tuple[Store, Proxy], store: Store, cut: Cut, outcome: Any
) -> None:
    far, proxy = wire
    push(store, message())
    ((held,),) = far.claim("q", [Want()])
    proxy.cut_next_commit(cut)
    with pytest.raises(OutcomeUnknown):
        far.settle([Settlement(held.receipt, outcome)])
    assert proxy.cuts == 1
    assert store.queues.stats("q").leased == (0 if cut == "reply" else 1)


@BOTH
def test_a_push_whose_commit_never_gets_a_reply_has_an_unknown_outcome(
    wire: tuple[Store, Proxy], store: Store, cut: Cut
) -> None:
    far, proxy = wire
    said = message()
    proxy.cut_next_commit(cut, times=20)
    with pytest.raises(OutcomeUnknown):
        far.push([Batch("q", [said])])
    assert 1 < proxy.cuts < 20
    push(store, said)
    assert store.queues.stats("q").ready == 1


@BOTH
def test_a_push_whose_commit_got_no_reply_before_the_server_was_gone_has_an_unknown_outcome(
    wire: tuple[Store, Proxy], store: Store, cut: Cut
) -> None:
    far, proxy = wire
    proxy.cut_next_commit(cut, for_good=True)
    with pytest.raises(OutcomeUnknown):
        far.push([Batch("q", [message()])])
    assert store.queues.stats("q").ready == (1 if cut == "reply" else 0)
    with pytest.raises(StoreUnavailable):
        far.push([Batch("q", [message()])])


# ---- not let in --------------------------------------------------------------------------------------------

SECRET = "hunter2-is-secret"  # noqa: S105 it is made up for these tests


def said_by(url: str) -> str:
    """Open a store that cannot be opened, and return all that is said about it, causes included."""
    with pytest.raises(StoreUnavailable) as raised:
        open_store(url)
    assert str(raised.value)
    chain: BaseException | None = raised.value
    texts = []
    while chain is not None:
        texts.append(f"{chain!r} {chain}")
        chain = chain.__cause__ or chain.__context__
    assert SECRET not in " ".join(texts)
    return str(raised.value)


def with_password(url: str, user: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{user}:{SECRET}@{rest.rpartition('@')[2]}"


def lock_door(server: Server) -> None:
    """Make a user who needs a password."""
    with closing(connected(server.url, autocommit=True)) as connection:
        run = Driven(connection).run
        if server.name != "postgres":
            run("CREATE USER locked@'127.0.0.1' IDENTIFIED BY 'another'")
            return
        rules = server.data / "pg_hba.conf"
        rules.write_text("host all locked all scram-sha-256\n" + rules.read_text())
        run("CREATE ROLE locked LOGIN PASSWORD 'another'")
        run("SELECT pg_reload_conf()")


SQL = pytest.mark.parametrize("server", ["postgres", "mysql"], indirect=True)  # Redis has tests of its own


@SQL
def test_a_wrong_password_is_said_without_the_password(server: Server) -> None:
    lock_door(server)
    said = said_by(with_password(server.url, "locked"))
    assert "locked" in said


@SQL
def test_an_unknown_database_is_named(server: Server) -> None:
    said = said_by(f"{server.url.rpartition('/')[0]}/nowhere_at_all")
    assert "nowhere_at_all" in said


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_server_that_is_not_there_is_unavailable(scheme: str) -> None:
    assert "refused" in said_by(f"{scheme}://user:{SECRET}@127.0.0.1:1/db").lower()


def test_a_server_without_room_for_another_connection_is_unavailable(url: str, server: Server) -> None:
    if server.name == "redis":
        with connect_redis(server.url) as admin:
            admin.config_set("maxclients", 1)
            assert "max number of clients" in said_by(url)
            admin.config_set("maxclients", 10_000)
        return
    user = "crowded"
    with closing(connected(server.url, autocommit=True)) as connection:
        run = Driven(connection).run
        if server.name == "postgres":
            run(f"CREATE ROLE {user} LOGIN CONNECTION LIMIT 0")
        else:
            run(f"CREATE USER {user}@'127.0.0.1' WITH MAX_USER_CONNECTIONS 1")
            run(f"GRANT ALL ON *.* TO {user}@'127.0.0.1'")
    there = url.replace("//rowmq@", f"//{user}@").replace("//root@", f"//{user}@")
    with ExitStack() as stack:
        if server.name != "postgres":
            stack.enter_context(closing(connected(there)))
        assert user in said_by(there)


@pytest.mark.parametrize("text", ["not a database", "SQLite format 3\0" + "x" * 4096])
def test_a_file_that_is_no_database_is_unavailable(tmp_path: Any, text: str) -> None:
    path = tmp_path / "file.db"
    path.write_text(text)
    assert "database" in said_by(f"sqlite:///{path}")
    assert path.read_text() == text


def test_a_directory_is_no_database(tmp_path: Any) -> None:
    said_by(f"sqlite:///{tmp_path}")


def test_a_disk_without_room_is_told_as_that_and_what_is_there_can_be_worked_off(tmp_path: Any) -> None:
    store: Any = open_store(f"sqlite:///{tmp_path}/small.db")
    with closing(store):
        store.queues.put("q")
        store.push([Batch("q", messages(2))])
        with store.database.engine.connect() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 20}")
        large = [message(b"x" * 2**20)]
        with pytest.raises(StoreFull, match="no room left"):
            store.push([Batch("q", large)])
        ((held, _),) = store.claim("q", [Want(limit=2)])
        assert store.settle([Settlement(held.receipt, ACK)]) == [Settled.SETTLED]
        assert store.queues.stats("q")[:4] == (0, 0, 1, 1)


@pytest.mark.parametrize(
    ("dialect", "error"),
    [
        (PostgresDialect(), psycopg.errors.DiskFull("could not extend file")),
        (MySQLDialect(), pymysql.err.OperationalError(1114, "The table is full")),
    ],
)
def test_what_other_databases_say_of_a_full_disk_is_known(dialect: Dialect, error: Exception) -> None:
    assert dialect.trouble(error) is Trouble.FULL
