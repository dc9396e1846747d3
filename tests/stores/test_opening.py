"""Opening stores: what is wrong with a URL is said in a sentence."""

from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

import rowmq
from rowmq.engine import open_store
from rowmq.stores import opening


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("", "not a store URL"),
        ("jobs.db", "not a store URL"),
        ("oracle://host/db", "no store is called 'oracle'"),
        ("sqlite:///nowhere/at/all.db", "does not exist"),
        ("sqlite:///x.db?durability=maybe", "durability is one of"),
        ("sqlite:///x.db?colour=red", "no option colour"),
        ("postgresql://host:nonsense/db", "not a store URL"),
        (None, "a store URL is a string"),
    ],
)
def test_a_wrong_url_is_an_invalid_url(
    url: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rowmq.InvalidURL, match=sentence):
        open_store(url)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_a_server_that_is_down_is_unavailable_and_the_password_is_not_told(kind: str) -> None:
    with pytest.raises(rowmq.StoreUnavailable) as caught:
        open_store(f"{kind}://user:sesame@127.0.0.1:1/db")
    assert "sesame" not in str(caught.value)


def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "q.db").write_bytes(b"this is not a database" * 100)
    with pytest.raises(rowmq.StoreUnavailable, match="not a database"):
        open_store(f"sqlite:///{tmp_path}/q.db")


def test_without_migrating_a_store_without_tables_is_outdated(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/q.db"
    with pytest.raises(rowmq.SchemaOutdated, match="rowmq migrate"):
        open_store(url, migrate=False)
    open_store(url).close()
    open_store(url, migrate=False).close()


def test_sqlite_is_durable_unless_the_url_says_otherwise(tmp_path: Path) -> None:
    grades = {}
    for level in ("full", "normal", "off"):
        store = open_store(f"sqlite:///{tmp_path}/q.db?durability={level}")
        grades[level] = store.durability.grade
        store.close()
    store = open_store(f"sqlite:///{tmp_path}/q.db")
    assert (grades, store.durability.grade) == ({"full": "A", "normal": "B", "off": "B"}, "A")
    store.close()


def test_a_package_can_bring_a_store_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint(name="shelf", group="rowmq.stores", value="tests.stores.test_opening:Shelf")
    monkeypatch.setattr(opening, "entry_points", lambda **_: EntryPoints([entry]))
    store = open_store("shelf://here")
    assert isinstance(store, Shelf)
    assert store.url == "shelf://here"
    monkeypatch.setattr(opening, "entry_points", lambda **_: EntryPoints([]))
    with pytest.raises(rowmq.InvalidURL, match="no store is called 'shelf'"):
        open_store("shelf://here")


class Shelf:
    """Somebody else's store."""

    def __init__(self, url: str) -> None:
        self.url = url


def test_servers_tell_their_durability(sql_url: str) -> None:
    store = open_store(sql_url)
    assert store.durability.grade == "A"
    assert "every commit is on the disk" in store.durability.because
    store.close()


def test_postgresql_that_does_not_wait_for_the_disk_says_so(postgres_url: str) -> None:
    store = open_store(f"{postgres_url}&durability=off")
    assert store.durability.grade == "C"
    assert "synchronous_commit=off" in store.durability.because
    store.close()


@pytest.mark.parametrize("option", ["durability=maybe", "prepare=perhaps", "partitions=hour", "colour=red"])
def test_an_option_that_postgresql_does_not_have_is_an_invalid_url(option: str) -> None:
    with pytest.raises(rowmq.InvalidURL):
        open_store(f"postgresql://127.0.0.1:1/x?{option}")


@pytest.mark.parametrize("url", ["mysql://127.0.0.1:1", "mysql://127.0.0.1:1/x?colour=red"])
def test_a_mysql_url_without_a_database_or_with_an_unknown_option_is_invalid(url: str) -> None:
    with pytest.raises(rowmq.InvalidURL):
        open_store(url)
