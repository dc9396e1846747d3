"""What other systems have is moved over as it stands, and once."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

import rowmq
from rowmq.core.errors import StoreUnavailable
from rowmq.core.history import Record
from rowmq.core.outcome import State
from rowmq.doors.grpc.inbox import Inboxes
from rowmq.pipeline.importing import sql as importing_sql
from rowmq.pipeline.importing.gomq import inbox_of
from rowmq.pipeline.importing.moving import SYSTEMS, places_of
from rowmq.pipeline.importing.rows import Old, moment, texts
from tests.doors.program import Program
from tests.pipeline import legacy
from tests.servers import RedisServer

NOW = datetime(2026, 6, 1, tzinfo=UTC)
LATER = datetime(2999, 1, 1, tzinfo=UTC)


def read(system: str, url: str, number: int = 0) -> list[Old]:
    place = SYSTEMS[system].places(url)[number]
    parts = SYSTEMS[system].parts(url, place)
    found = [old for part in parts for old in SYSTEMS[system].read(url, place, part, NOW)]
    return sorted(found, key=lambda old: (old.created_at, old.place))


@pytest.fixture(params=[1, 50_000], ids=["many parts", "one part"])
def largest(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing_sql, "LARGEST", request.param)


@pytest.mark.usefixtures("largest")
def test_pgq_is_read_with_its_states(postgres_url: str) -> None:
    found = read("pgq", legacy.pgq(postgres_url))
    assert [old.id for old in found] == legacy.IDS
    assert [old.state for old in found] == [None] * 4 + [State.DONE, State.DEAD]
    assert [old.at for old in found] == [None, None, LATER, LATER, None, None]
    assert [old.attempts for old in found] == [0, 2, 1, 0, 1, 3]
    assert [old.error for old in found] == [None, "no luck", None, None, None, "give up"]
    assert {old.body for old in found} == {b'{"n": 12345678901234567890.10}'}
    assert found[0].metadata == {"k": "v", "m": "1"}
    assert (found[4].started_at, found[4].finished_at) == (moment(legacy.MADE[4]), moment(legacy.MADE[5]))


@pytest.mark.usefixtures("largest")
def test_gqs_is_read_with_its_states(tmp_path: Path) -> None:
    found = read("gqs", legacy.gqs(tmp_path))
    assert [old.id for old in found] == legacy.IDS
    assert [old.state for old in found] == [None] * 4 + [State.DONE, State.DEAD]
    assert [old.at for old in found] == [None, LATER, LATER, None, None, None]
    assert [old.attempts for old in found] == [0, 1, 1, 2, 1, 5]
    assert [(old.body, old.binary, old.metadata) for old in found] == [(b'{"a": 1}', True, {"k": "1"})] * 6
    assert found[5].finished_at == moment(legacy.MADE[5])


@pytest.mark.usefixtures("largest")
@pytest.mark.parametrize("table", ["hq_messages", "hq_jobs"])
def test_hq_is_read_with_its_states(tmp_path: Path, table: str) -> None:
    url = legacy.hq(tmp_path, table)
    found = read("hq", url)
    assert [old.id for old in found] == legacy.IDS
    assert [old.state for old in found] == [None, None, None, State.DEAD, State.DONE, State.DEAD]
    assert [old.reason for old in found] == [None, None, None, "exhausted", None, "killed"]
    assert [old.at for old in found] == [None, LATER + timedelta(seconds=45), None, None, None, None]
    assert {old.body for old in found} == {b'{"a": 1.0}'}
    assert [old.state for old in read("hq", url, 1)] == [None]
    places = SYSTEMS["hq"].places(url)
    assert [(place.name, dict(place.settings)) for place in places] == [
        ("emails", {"max_attempts": 3, "lease": timedelta(seconds=45)}),
        ("other", {"max_attempts": None}),
    ]


@pytest.mark.usefixtures("largest")
def test_gq_is_read_as_it_is_and_as_it_is_described(mysql_url: str, tmp_path: Path) -> None:
    elsewhere = f"{legacy.gq(mysql_url)}?init_command=SET%20time_zone%3D'%2B05:00'"
    first, second = read("gq", elsewhere)
    assert (first.body, first.binary, first.attempts, first.at) == (b"\x00\xff", True, 0, None)
    assert (second.attempts, second.at) == (2, datetime(2037, 1, 1, tzinfo=UTC))
    assert second.created_at == datetime(2026, 1, 2, 3, 4, 1, tzinfo=UTC)
    described = read("gq", legacy.gq_described(tmp_path))
    assert [old.state for old in described] == [None, None, State.DONE, State.DEAD]
    assert {old.deadline for old in described} == {LATER}
    assert len({old.id for old in described}) == 4


@pytest.fixture
def gomq_url(own_redis: RedisServer) -> str:
    return legacy.gomq(own_redis.url)


def test_gomq_is_read_by_its_own_sets_and_each_consumer_gets_a_record_once(gomq_url: str) -> None:
    places = SYSTEMS["gomq"].places(gomq_url)
    assert [(place.name, place.topic) for place in places] == [("a_b", False), ("a_b", False), ("kept", True)]
    assert [[old.body for old in read("gomq", gomq_url, number)] for number in range(3)] == [
        [b"1", b"2", b"3", b"4"],
        [b"4"],
        [b"5", b"6"],
    ]
    assert read("gomq", gomq_url, 2)[0].created_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_times_and_metadata_are_understood_as_the_systems_write_them() -> None:
    moments = [
        "2026-01-02 03:04:05.123456789+00:00",
        "2026-01-02T03:04:05.123456Z",
        "2026-01-02 03:04:05.123456 UTC",
        "2026-01-02 05:04:05.123456 +0200",
    ]
    assert {moment(each) for each in moments} == {datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=UTC)}
    assert moment(None) is None
    assert texts('{"a": "b", "c": [1], "d": null}') == {"a": "b", "c": "[1]", "d": "null"}
    assert texts(None) == {}


def test_what_is_not_laid_out_so_is_refused_in_a_sentence(tmp_path: Path) -> None:
    url = legacy.hq(tmp_path)
    with pytest.raises(rowmq.InvalidSetting, match="nothing laid out as its queues are by pgq"):
        places_of("pgq", url)
    with pytest.raises(rowmq.InvalidSetting, match="no queue 'none' by hq"):
        places_of("hq", url, queue="none")
    with pytest.raises(rowmq.InvalidSetting, match="there are emails, other: say --queue"):
        places_of("hq", url, to="x")
    assert [place.target for place in places_of("hq", url, queue="emails", to="x")] == ["x"]
    with pytest.raises(rowmq.InvalidURL, match="not redis://"):
        places_of("pgq", "redis://localhost")
    with pytest.raises(rowmq.StoreUnavailable, match="cannot be read"):
        places_of("pgq", "postgresql://127.0.0.1:1/none")
    with pytest.raises(rowmq.StoreUnavailable, match="cannot be read"):
        places_of("gomq", "redis://127.0.0.1:1/0")


@pytest.fixture
def mq(sqlite_url: str) -> Iterator[rowmq.Client]:
    with rowmq.connect(sqlite_url) as client:
        yield client


@pytest.fixture
def program(
    spark: SparkSession,
    sqlite_url: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Program:
    monkeypatch.setenv("ROWMQ_URL", sqlite_url)
    assert SparkSession.getActiveSession() is spark  # which the program then uses
    return Program(tmp_path, capsys)


def all_of(mq: rowmq.Client, queue: str) -> list[Record]:
    return list(mq.find(queue))


def test_hq_is_moved_over_once_with_its_states_and_settings(
    mq: rowmq.Client, program: Program, tmp_path: Path
) -> None:
    url = legacy.hq(tmp_path)
    dry = program("import", "hq", "--from", url, "--dry-run", "--json").json
    assert [(each["name"], each["rows"], each["done"], each["dead"]) for each in dry] == [
        ("emails", 6, 1, 2),
        ("other", 1, 0, 0),
    ]
    assert mq.queues() == []
    program("import", "hq", "--from", url)
    found = all_of(mq, "emails")
    assert [record.id for record in found] == legacy.IDS
    assert [record.state for record in found] == ["ready", "scheduled", "ready", "dead", "done", "dead"]
    assert [record.attempts for record in found] == [0, 1, 1, 3, 1, 2]
    assert [record.created_at for record in found] == [moment(made[:23]) for made in legacy.MADE]
    assert mq.queue("emails").settings().max_attempts == 3
    first = mq.queue("emails").claim(limit=1)[0]
    assert (first.id, first.payload) == (legacy.IDS[0], {"a": 1.0})
    first.ack()
    program("import", "hq", "--from", url)
    assert [record.state for record in all_of(mq, "emails")] == ["done", *(each.state for each in found[1:])]


def test_pgq_and_gqs_and_gq_are_moved_over_once(
    mq: rowmq.Client, program: Program, postgres_url: str, tmp_path: Path
) -> None:
    legacy.pgq(postgres_url)
    others = [uuid4() for _ in legacy.IDS]
    urls = {"gqs": legacy.gqs(tmp_path, others), "gq": legacy.gq_described(tmp_path)}
    for _ in range(2):
        program("import", "pgq", "--from", postgres_url, "-q", "my: queue", "--to", "mine")
        program("import", "gqs", "--from", urls["gqs"], "--parse")
        program("import", "gq", "--from", urls["gq"])
    assert [record.id for record in all_of(mq, "mine")] == legacy.IDS
    assert [record.error for record in mq.failures(legacy.IDS[5])] == ["give up"]
    assert [record.id for record in all_of(mq, "jobs")] == others
    assert {(record.body, record.binary) for record in all_of(mq, "jobs")} == {(b'{"a": 1}', False)}
    assert [record.state for record in all_of(mq, "message")] == ["ready", "ready", "done", "dead"]


def test_gomqs_consumers_find_what_they_had_to_receive(
    mq: rowmq.Client, program: Program, gomq_url: str
) -> None:
    for _ in range(2):
        program("import", "gomq", "--from", gomq_url)
    assert [record.body for record in all_of(mq, inbox_of("c", "a_b"))] == [b"1", b"2", b"3", b"4"]
    inboxes = Inboxes(mq.store, server="s", run="r", alive=timedelta(seconds=35))
    (inbox,) = inboxes.complete("c", None, "127.0.0.1:9", lambda *_: None)
    assert (inbox.queue, inbox.peer) == (inbox_of("c", "a_b"), "127.0.0.1:9")
    mq.topic("kept").subscribe("later")
    assert [record.body for record in all_of(mq, "later")] == [b"5", b"6"]


def test_redis_takes_what_is_not_over(
    program: Program, redis_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ROWMQ_URL", redis_url)
    url = legacy.gqs(tmp_path)
    with rowmq.connect(redis_url) as mq:
        for _ in range(2):
            program("import", "gqs", "--from", url)
        assert [record.id for record in all_of(mq, "jobs")] == legacy.IDS[:4]


@pytest.mark.parametrize("system", ["gqs", "hq", "gq"])
def test_a_file_that_is_not_there_is_refused_and_not_made(system: str, tmp_path: Path) -> None:
    typo = tmp_path / "typo.db"
    with pytest.raises(StoreUnavailable, match=r"there is no file .*typo\.db"):
        places_of(system, f"sqlite:///{typo}")
    assert not typo.exists()
