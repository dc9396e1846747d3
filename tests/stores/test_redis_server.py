"""Redis servers of all kinds: lax, full, read-only, loading, busy, locked, clustered, encrypted."""

from __future__ import annotations

import time
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread, Timer
from typing import TYPE_CHECKING, Any

import pytest
import redis
import trustme

from rowmq.core.delivery import Settlement, Want
from rowmq.core.errors import InvalidSetting, SchemaOutdated, StoreUnavailable
from rowmq.core.message import Batch, Pushed
from rowmq.core.monitor import MINUTE
from rowmq.core.outcome import ACK, Settled, State
from rowmq.stores import open_store
from rowmq.testing.build import T0, after, message, messages
from tests.servers import Server, ServerMissingError, connect_redis, free_port, redis_server, skip_or_fail
from tests.stores.test_redis import live
from tests.timing import timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rowmq.core.store import Store

SECRET = "hunter2-is-secret"  # noqa: S105 it is made up for these tests
DOCUMENTED = (Path(__file__).parents[2] / "docs" / "stores.md").read_text()
RIGHTS = " ".join(DOCUMENTED.partition("ACL SETUSER rowmq on >PASSWORD ")[2].partition("```")[0].split())
"""What the documentation says that a user needs."""


@contextmanager
def served(**settings: str) -> Iterator[Server]:
    """Run a server of these settings, or skip."""
    try:
        with redis_server(**settings) as server:
            yield server
    except ServerMissingError as missing:
        skip_or_fail(missing)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of this file's own, whose settings a test may change if it puts them back."""
    with served() as server:
        yield server


@pytest.fixture
def admin(server: Server) -> Iterator[redis.Redis]:
    with connect_redis(server.url) as connection:
        connection.flushall()
        yield connection


@pytest.fixture
def store(server: Server, admin: redis.Redis) -> Iterator[Store]:
    assert admin
    with connected(server) as (store, _):
        yield store


@contextmanager
def configured(admin: redis.Redis, **settings: str) -> Iterator[None]:
    """Let the server have these settings for a while."""
    names = [name.replace("_", "-") for name in settings]
    before = {name: str(admin.config_get(name)[name]) for name in names}
    for name, value in zip(names, settings.values(), strict=True):
        admin.config_set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            admin.config_set(name, value)


@contextmanager
def connected(server: Server) -> Iterator[tuple[Store, redis.Redis]]:
    """Have a store with a queue on a server, and a way to the server itself."""
    with connect_redis(server.url) as admin, closing(open_store(server.url)) as store:
        store.queues.put("q")
        yield store, admin


def push(store: Store, count: int = 1) -> Pushed:
    (answer,) = store.push([Batch("q", messages(count))])
    assert isinstance(answer, Pushed), answer
    return answer


def run(admin: Any, command: str) -> Any:
    return admin.execute_command(*command.split())


def said(call: Callable[[], object]) -> str:
    with pytest.raises(StoreUnavailable) as raised:
        call()
    return str(raised.value)


# ---- what it promises --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "grade"),
    [
        ({"appendfsync": "always"}, "A"),
        ({"appendfsync": "always", "no_appendfsync_on_rewrite": "yes"}, "B"),
        ({"appendfsync": "everysec"}, "B"),
        ({"appendfsync": "no"}, "B"),
        ({"appendonly": "no"}, "C"),
    ],
)
def test_a_store_tells_what_its_servers_settings_let_survive(
    server: Server, admin: redis.Redis, settings: dict[str, str], grade: str
) -> None:
    with configured(admin, **settings), closing(open_store(server.url)) as store:
        assert store.durability.grade == grade
        assert "=" in store.durability.because


def test_a_server_that_may_evict_messages_is_refused_unless_the_url_allows_it(
    server: Server, admin: redis.Redis
) -> None:
    with configured(admin, maxmemory_policy="allkeys-lru"):
        with pytest.raises(InvalidSetting, match="may evict messages"):
            open_store(server.url)
        with closing(open_store(f"{server.url}?eviction=allow")) as store:
            assert store.queues.list() == []
            assert store.durability.grade == "C"
            assert store.durability.because.startswith("maxmemory-policy=allkeys-lru: messages may be thrown")


def test_keys_of_another_layout_are_refused(server: Server, admin: redis.Redis) -> None:
    admin.set("{rowmq}:layout", "99")
    with pytest.raises(SchemaOutdated, match="of layout 99"):
        open_store(server.url)


# ---- what stands in the way --------------------------------------------------------------------------------


def test_where_memory_is_full_pushes_are_refused_and_what_is_there_can_be_worked_off(
    store: Store, admin: redis.Redis
) -> None:
    push(store, 3)
    before = set(admin.scan_iter())
    with configured(admin, maxmemory="1"):
        assert "maxmemory" in said(lambda: push(store))
        assert "maxmemory" in said(lambda: store.topics.publish("t", [message()]))
        assert set(admin.scan_iter()) == before
        ((held, other),) = store.claim("q", [Want(limit=2)])
        assert store.settle([Settlement(held.receipt, ACK)]) == [Settled.SETTLED]
        assert store.extend([other.receipt], timedelta(minutes=5))[0] is not None
        assert store.queues.purge("q") == 1
    push(store)
    assert store.queues.stats("q")[:4] == (1, 0, 1, 1)


def test_a_read_only_replica_is_named_as_that_and_nothing_is_written(
    store: Store, admin: redis.Redis
) -> None:
    admin.replicaof("127.0.0.1", "1")
    try:
        assert "read-only replica" in said(lambda: push(store))
        assert "read-only replica" in said(lambda: store.claim("q", [Want()]))
        assert store.queues.stats("q").ready == 0
    finally:
        admin.replicaof("NO", "ONE")
    push(store)
    assert store.queues.stats("q").ready == 1


def await_busy(admin: redis.Redis) -> None:
    with suppress(redis.ResponseError):  # which is what it answers while it is
        while admin.ping():
            time.sleep(0.01)


@contextmanager
def busy(server: Server, admin: redis.Redis) -> Iterator[None]:
    """Keep the server busy with a script, which whoever asks may kill."""

    def spin() -> None:
        with connect_redis(server.url) as hog, pytest.raises(redis.ResponseError, match="killed"):
            hog.eval("while true do end", 0)

    with configured(admin, busy_reply_threshold="50"):
        spinning = Thread(target=spin)
        spinning.start()
        try:
            await_busy(admin)
            yield
        finally:
            with suppress(redis.ResponseError):  # it has been killed
                admin.script_kill()
            spinning.join(10)


def test_a_server_busy_with_somebodys_script_for_long_is_unavailable(
    store: Store, server: Server, admin: redis.Redis
) -> None:
    with busy(server, admin):
        assert "busy with another script" in said(lambda: push(store))
    push(store)


@timed
def test_a_server_busy_with_somebodys_script_for_a_moment_is_waited_for(
    store: Store, server: Server, admin: redis.Redis
) -> None:
    with busy(server, admin):
        Timer(0.3, admin.script_kill).start()
        push(store)
    assert store.queues.stats("q").ready == 1


@timed
def test_a_server_that_is_loading_says_so_and_is_there_afterwards() -> None:
    slow = {"key-load-delay": "2000", "loading-process-events-interval-bytes": "1024"}
    with served(**slow) as server, connected(server) as (store, admin):
        push(store, 1000)
        admin.bgrewriteaof()
        while admin.info("persistence")["aof_rewrite_in_progress"]:
            time.sleep(0.02)
        server.restart()
        assert "still loading" in said(lambda: store.queues.stats("q"))
        while admin.info("persistence")["loading"]:
            time.sleep(0.05)
        assert store.queues.stats("q").ready == 1000


def test_a_server_that_cannot_save_takes_no_writes() -> None:
    with served(appendonly="no", save="3600 1") as server, connected(server) as (store, admin):
        server.data.chmod(0o500)
        admin.bgsave()
        while admin.info("persistence")["rdb_last_bgsave_status"] == "ok":
            time.sleep(0.02)
        assert "cannot write to its disk" in said(lambda: push(store))
        assert store.queues.stats("q").ready == 0
        server.data.chmod(0o700)
        admin.save()
        push(store)


def test_a_wrong_password_and_none_are_said_without_the_password(server: Server, admin: redis.Redis) -> None:
    run(admin, f"ACL SETUSER locked on >another {RIGHTS}")
    there = server.url.partition("://")[2]
    assert "user or the password" in said(lambda: open_store(f"redis://locked:{SECRET}@{there}"))
    with configured(admin, requirepass="another"):
        text = said(lambda: open_store(server.url))
        assert "user or the password" in text
        assert SECRET not in text
        open_store(f"redis://:another@{there}").close()


@pytest.mark.parametrize("url", [f"redis://user:{SECRET}@127.0.0.1:1/0", "unix:///nowhere/at/all"])
def test_a_server_that_is_not_there_is_unavailable(url: str) -> None:
    text = said(lambda: open_store(url))
    assert "cannot be reached" in text
    assert SECRET not in text


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    assert "closed" in said(lambda: push(store))


# ---- who may do what ---------------------------------------------------------------------------------------


def restricted(server: Server, admin: redis.Redis, rights: str) -> str:
    """Make a user with these rights, and return its URL."""
    run(admin, f"ACL SETUSER limited reset on >{SECRET} {rights}")
    return f"redis://limited:{SECRET}@{server.url.partition('://')[2]}"


def test_the_rights_that_are_documented_are_enough(server: Server, admin: redis.Redis) -> None:
    url = restricted(server, admin, RIGHTS)
    with closing(open_store(url)) as store:
        live(store)
        store.push([Batch("letters", [message()])])
        assert store.durability.grade == "A"
        assert store.history.bounds()[1] > 0
        assert store.history.find().records
        assert store.topics.bindings()
        assert store.consumers.list() is not None
        watch(store)
        assert store.queues.drop("q")
        store.wait(["letters"], timedelta(0))
        assert not store.wait(["letters"], timedelta(milliseconds=1))
    with connect_redis(url) as limited, pytest.raises(redis.ResponseError, match="permission"):
        limited.get("something")


def watch(store: Any) -> None:
    """Do everything that a monitor can."""
    assert store.monitor.counts(["letters"])["letters"].ready
    assert store.monitor.page("letters", State.READY).records
    assert store.monitor.failed("q", "").place is None
    assert store.monitor.sample(now=after(120)) > 0
    assert store.monitor.samples(MINUTE, T0)
    assert store.monitor.health().settings["appendonly"] == "yes"


def test_a_user_without_a_right_is_told_so(server: Server, admin: redis.Redis) -> None:
    url = restricted(server, admin, "~{rowmq}:* +@connection +info")
    assert "lacks a right" in said(lambda: open_store(url))


def test_who_may_not_read_settings_is_promised_nothing(server: Server, admin: redis.Redis) -> None:
    url = restricted(server, admin, f"{RIGHTS} -config|get")
    with closing(open_store(url)) as store:
        assert store.durability.grade == "C"
        assert "CONFIG GET" in store.durability.because


def test_who_may_not_listen_polls(server: Server, admin: redis.Redis) -> None:
    url = restricted(server, admin, f"{RIGHTS} resetchannels")
    with closing(open_store(url)) as store:
        store.queues.put("q")
        push(store)
        started = time.monotonic()
        assert store.wait(["q"], timedelta(seconds=20))
        assert time.monotonic() - started < 10


# ---- where it is -------------------------------------------------------------------------------------------


def used(url: str) -> None:
    with closing(open_store(url)) as store:
        live(store)
        assert store.queues.drop("q")


def test_a_server_is_reached_through_its_socket(server: Server, admin: redis.Redis) -> None:
    assert admin
    used(f"unix://{server.directory / 'socket'}?db=3")


def test_all_keys_are_in_one_slot_of_a_cluster() -> None:
    with served(**{"cluster-enabled": "yes"}) as server, connect_redis(server.url) as admin:
        run(admin, "CLUSTER ADDSLOTSRANGE 0 16383")
        while b"cluster_state:ok" not in run(admin, "CLUSTER INFO"):
            time.sleep(0.02)
        used(server.url)


def certified(directory: Path) -> dict[str, str]:
    """Write a certificate that the server, maybe another user, can read; its settings."""
    directory.chmod(0o755)
    authority = trustme.CA()
    own = authority.issue_cert("127.0.0.1")
    pems = {"ca": authority.cert_pem, "cert": own.cert_chain_pems[0], "key": own.private_key_pem}
    for name, pem in pems.items():
        pem.write_to_path(directory / name)
        (directory / name).chmod(0o644)
    names = {"tls-ca-cert-file": "ca", "tls-cert-file": "cert", "tls-key-file": "key"}
    return {setting: str(directory / name) for setting, name in names.items()}


def test_a_server_is_reached_through_tls_if_its_certificate_is_trusted() -> None:
    with TemporaryDirectory() as directory:
        port = free_port()
        settings = {**certified(Path(directory)), "tls-port": str(port), "tls-auth-clients": "no"}
        with served(**settings):
            used(f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={directory}/ca")
            assert "certificate" in said(lambda: open_store(f"rediss://127.0.0.1:{port}/0"))
