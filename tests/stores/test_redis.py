"""What only the store on Redis does: its keys, its prefix, its scripts and their cost."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from rowmq.core.backoff import Backoff
from rowmq.core.delivery import Receipt, Settlement, Want
from rowmq.core.errors import InvalidMessage, InvalidURL, SchemaOutdated, Unsupported
from rowmq.core.message import Batch, Pushed
from rowmq.core.outcome import ACK, Ack, Bury, Release, Retry, Settled, State
from rowmq.core.where import where
from rowmq.stores import ids, open_store, redis
from rowmq.stores.recent import MOST
from rowmq.stores.redis import push as pushing
from rowmq.stores.redis.store import RedisStore
from rowmq.stores.redis.waiting import Listening
from rowmq.testing.build import (
    T0,
    after,
    claim,
    claim_one,
    everything,
    message,
    messages,
    payloads,
    push,
    put_queue,
    schedule,
    settle,
    span,
    states,
)
from tests.servers import Server, connect_redis, fresh_redis_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.core.message import Message
    from rowmq.core.outcome import Outcome
    from rowmq.core.store import Store

LUA = Path(redis.__file__).parent / "lua"
COUNTERS = {
    "last_seq",
    "last_qid",
    "last_tid",
    "last_gid",
    "last_cid",
    "last_birth",
    "last_version",
    "layout",
}


@pytest.fixture
def store(redis_url: str) -> Iterator[RedisStore]:
    with closing(opened(redis_url)) as store:
        yield store


@pytest.fixture
def alone(own_redis: Server) -> Iterator[RedisStore]:
    """On a server of its own, whose commands nobody else adds to."""
    with closing(opened(own_redis.url)) as store:
        yield store


def opened(url: str) -> RedisStore:
    store = open_store(url)
    assert isinstance(store, RedisStore)
    return store


def keys(url: str) -> set[str]:
    """Return every key of the database."""
    with connect_redis(url) as connection:
        return {key.decode() for key in connection.scan_iter(count=1000)}


def ours(store: RedisStore, url: str) -> set[str]:
    """Return the keys of a store, without the prefix."""
    root = store.server.options.root
    return {key.removeprefix(root) for key in keys(url) if key.startswith(root)}


def live(store: Store) -> None:
    """Do everything once, in a queue whose dead letters go to another."""
    put_queue(store, "letters")
    put_queue(store, dead_letter="letters", retention=span(60))
    store.topics.publish("kept", [message()], now=T0)
    for topic in ("kept", "t"):
        store.topics.bind(topic, "q", now=T0)
    store.topics.publish("t", messages(3, group="g", key="k"), now=T0)
    push(store, *messages(5), message(delay=span(60)), message(deadline=after(9)), *messages(2, group="g"))
    store.consumers.beat("q", "w", span(60), now=T0)
    store.consumers.lead("role", "w", span(60), now=T0)
    store.schedules.put(schedule("s"), now=T0)
    store.schedules.fire("s", T0, after(60), now=T0)
    for outcome in (ACK, Retry(error="x"), Bury(error="y")):
        settle(store, claim_one(store, consumer="w"), outcome)
    claim(store, 2, name="run")
    store.adopt("run", now=T0)
    store.history.redrive("letters", limit=1, now=T0)
    store.history.sweep(now=after(100))
    store.queues.purge("q", now=after(100))


def test_every_key_has_the_prefix_and_keys_of_others_are_left_alone(
    store: RedisStore, redis_url: str
) -> None:
    theirs = {"rowmq:q:1": "1", "{rowmq}:queues": "2", f"{store.server.options.prefix}:ids": "3", "wake": "4"}
    with connect_redis(redis_url) as connection:
        connection.mset(theirs)
        before = keys(redis_url)
        live(store)
        for queue in ("q", "letters"):
            store.queues.drop(queue, now=after(200))
        assert connection.mget(list(theirs)) == [value.encode() for value in theirs.values()]
        fresh = keys(redis_url) - before
        connection.delete(*theirs)
    assert store.server.options.root.startswith("{rowmq_test_")
    # Other tests use the same server meanwhile, each under a prefix of its own.
    assert [key for key in fresh if not key.startswith("{rowmq_test_")] == []


def key_map() -> dict[str, str]:
    """The patterns of keys in the map that heads the package, and the type of each."""
    found: dict[str, str] = {}
    lines = re.findall(
        r"^    (\S.*?)\s+(string|hash|list|set|zset)  ", _unfolded(redis.__doc__ or ""), re.MULTILINE
    )
    for names, kind in lines:
        first, *others = names.split()
        home = first.rpartition(":")[0] + ":" if "<" in first else ""
        found |= dict.fromkeys([first, *(home + name for name in others)], kind)
    return {re.sub("<[a-z]+>", "[0-9]+", name): kind for name, kind in found.items()}


def _unfolded(text: str) -> str:
    """Names that take a line of their own, and the next one."""
    return re.sub(r"(last_version)\n +", r"\1  ", text)


def test_every_key_is_in_the_map_and_has_its_type_there(store: RedisStore, redis_url: str) -> None:
    live(store)
    busy = after(200)
    push(store, *messages(3, group="h", key="k"), *messages(9, priority=3, deadline=after(900)), now=busy)
    for outcome in (Ack(b"1"), Retry(error="x"), Bury(error="y")):
        settle(store, claim_one(store, consumer="w", now=busy), outcome, now=busy)
    claim(store, 2, name="other run", now=busy)
    store.consumers.beat("q", "w", span(60), now=busy)
    store.consumers.lead("role", "w", span(60), now=busy)
    store.history.archive(range(1, 40), now=busy)
    store.topics.publish("nobody's", [message()], now=busy)
    for seconds in (0, 200, 300, 2000):
        store.monitor.sample(now=after(seconds))
    known, met = key_map(), set()
    with connect_redis(redis_url) as connection:
        for key in ours(store, redis_url):
            (pattern,) = [each for each in known if re.fullmatch(each, key)] or [f"{key} is in no map"]
            assert connection.type(store.server.options.root + key).decode() == known.get(pattern, pattern)
            met.add(pattern)
    assert len(met) > 30


def test_two_prefixes_of_one_database_share_nothing(redis_server_url: str) -> None:
    with (
        fresh_redis_prefix(redis_server_url) as one,
        fresh_redis_prefix(redis_server_url) as two,
        closing(opened(one)) as first,
        closing(opened(two)) as second,
    ):
        live(first)
        assert second.queues.list() == []
        assert second.history.bounds() == (0, 0)
        put_queue(second)
        push(second, message("theirs"))
        for queue in ("q", "letters"):
            first.queues.drop(queue, now=T0)
        assert payloads(claim(second, 10)) == ["theirs"]


def test_a_queue_dropped_leaves_nothing_but_the_ledger_and_counters(
    store: RedisStore, redis_url: str
) -> None:
    live(store)
    assert len(ours(store, redis_url)) > len(COUNTERS) + 10
    for queue in ("q", "letters"):
        assert store.queues.drop(queue, now=after(200))
    left = ours(store, redis_url) - COUNTERS
    assert left == {"ledger"}


def test_a_drop_that_was_interrupted_is_finished_by_a_sweep(store: RedisStore, redis_url: str) -> None:
    put_queue(store)
    push(store, *messages(5))
    store.server.call("queue_drop", "q", "")
    assert store.queues.list() == []
    store.history.sweep()
    assert ours(store, redis_url) - COUNTERS == {"ledger"}
    assert [(entry.queue, entry.action, entry.count) for entry in store.history.ledger()] == [
        ("q", "drop", 5)
    ]


NAMES = (
    "1",
    "2",
    "1:open",
    "q:1",
    "1:due:0",
    "g:1",
    "{x}",
    "}{",
    ":",
    "ids",
    "last_seq",
    "1\u00a0",
    "*",
    "?[a]",
)


def test_names_that_look_like_parts_of_keys_are_only_names(store: RedisStore) -> None:
    for name in NAMES:
        put_queue(store, name)
        push(store, *(message([name, group], group=group, key=group) for group in NAMES), queue=name)
    for name in NAMES:
        assert payloads(claim(store, 100, queue=name)) == [[name, group] for group in NAMES]
        assert store.queues.stats(name, now=T0).leased == len(NAMES)


def test_a_transaction_is_refused(store: RedisStore) -> None:
    put_queue(store)
    calls: tuple[Any, ...] = (
        lambda: store.push([Batch("q", [message()])], tx=object()),
        lambda: store.settle([], tx=object()),
        lambda: store.topics.publish("t", [message()], tx=object()),
    )
    for call in calls:
        with pytest.raises(Unsupported, match="without tx"):
            call()
    assert states(store) == {}


def test_finished_messages_are_kept_for_an_hour_unless_the_url_says_otherwise(redis_url: str) -> None:
    plain = re.sub("&retention=[0-9]+", "", redis_url)
    for url, kept in ((plain, 3600), (f"{plain}&retention=60", 60)):
        with closing(opened(url)) as store:
            assert store.queues.put(f"keeps {kept}").retention == timedelta(seconds=kept)
            assert store.queues.put("its own", {"retention": span(7)}).retention == span(7)


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("prefix=a{b", "a prefix is"),
        ("prefix=" + "x" * 65, "a prefix is"),
        ("eviction=maybe", "eviction is refuse or allow"),
        ("retention=-1", "retention is a number of seconds"),
        ("retention=long", "retention is a number of seconds"),
        ("timeout=0", "timeout is a number of seconds"),
        ("db=x", "a Redis database is a number"),
        ("colour=red", "no option colour"),
        ("ssl_keyfile=x", "no option ssl_keyfile"),
    ],
)
def test_a_wrong_option_is_an_invalid_url(option: str, sentence: str) -> None:
    with pytest.raises(InvalidURL, match=sentence):
        open_store(f"redis://127.0.0.1:1/0?{option}")


def test_scripts_that_the_server_has_forgotten_are_sent_again(store: RedisStore, redis_url: str) -> None:
    put_queue(store)
    push(store, message())
    with connect_redis(redis_url) as connection:
        connection.script_flush()
        push(store, message())
        connection.script_flush()
        assert len(claim(store, 5)) == 2


def calls(store: RedisStore) -> Counter[str]:
    """Count the commands that the server has run, those in scripts too."""
    lines = store.server.ask("INFO", "commandstats").decode().splitlines()
    found = (re.match("cmdstat_([^:]+):calls=([0-9]+)", line) for line in lines)
    return Counter({each[1]: int(each[2]) for each in found if each})


def test_a_thousand_messages_are_one_script(alone: RedisStore) -> None:
    put_queue(alone)
    push(alone, message())
    before = calls(alone)
    answers = alone.push([Batch("q", messages(500)), Batch("q", messages(500))])
    assert all(isinstance(answer, Pushed) for answer in answers)
    assert (calls(alone) - before)["evalsha"] == 1
    assert alone.queues.stats("q").ready == 1001


def test_a_batch_that_no_script_could_take_is_refused_whole(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_queue(store)
    monkeypatch.setattr(pushing, "LARGEST_BATCH", 2)
    with pytest.raises(InvalidMessage, match="at most 2 messages"):
        store.push([Batch("q", messages(3))])
    assert states(store) == {}


def fill(store: RedisStore, finished: int, scheduled: int) -> None:
    """Put so many messages beside those that a claim looks for."""
    for start in range(0, finished, 5000):
        store.push([Batch("q", messages(min(5000, finished - start)))], now=T0)
        (held,) = store.claim("q", [Want(limit=5000)], now=T0)
        store.settle([Settlement(each.receipt, ACK) for each in held], now=T0)
    for start in range(0, scheduled, 5000):
        store.push([Batch("q", messages(min(5000, scheduled - start), delay=span(600)))], now=T0)


def looked_for(store: RedisStore) -> int:
    """How many microseconds the server has spent with looking through sorted sets."""
    found = re.search("cmdstat_zrange:.*?usec=([0-9]+)", store.server.ask("INFO", "commandstats").decode())
    assert found
    return int(found[1])


def cost_of_a_claim(store: RedisStore, **options: Any) -> Counter[str]:
    push(store, *messages(10))
    store.queues.stats("q")
    before = calls(store)
    assert len(claim(store, 10, **options)) == 10
    return calls(store) - before


def look_of_a_claim(store: RedisStore) -> int:
    before = looked_for(store)
    cost_of_a_claim(store)
    return looked_for(store) - before


@pytest.mark.timeout(300)
def test_a_claim_costs_the_same_beside_a_hundred_thousand_finished_and_scheduled_messages(
    alone: RedisStore,
) -> None:
    put_queue(alone)
    cost_of_a_claim(alone)  # the script is loaded with the first
    plain, choosy = cost_of_a_claim(alone), cost_of_a_claim(alone, max_age=span(60))
    fill(alone, 100_000, 100_000)
    assert cost_of_a_claim(alone) == plain
    assert cost_of_a_claim(alone, max_age=span(60)) == choosy
    assert plain.total() < 10 * 10 + 50
    assert min(look_of_a_claim(alone) for _ in range(3)) < 2_000  # through them all it is ten times that
    assert alone.queues.stats("q", now=T0)[:4] == (0, 100_000, 80, 100_000)


def fail_often(store: RedisStore, times: int, lately: int) -> None:
    """Have one message fail so many times, the last ones otherwise than before."""
    put_queue(store, max_attempts=None, backoff=Backoff(first=timedelta(0)))
    push(store, message("it"))
    for number in range(times):
        error = "new" if number >= times - lately else "old"
        settle(store, claim_one(store, now=after(number)), Retry(error=error), now=after(number))


def test_a_search_in_the_errors_of_one_message_reads_each_at_most_once(alone: RedisStore) -> None:
    fail_often(alone, 5000, 600)
    for text, most in (("", 10), ("old", 610), ("nothing of this", 5000)):
        before = calls(alone)
        found = alone.monitor.failed("q", text, now=after(9999))
        read = calls(alone) - before
        assert len(found.records) == (text != "nothing of this")
        assert read["lindex"] <= most + 5
        assert read["lrange"] == 0


def test_a_search_past_ten_thousand_messages_goes_on_the_next_time(store: RedisStore) -> None:
    put_queue(store)
    for _ in range(2):
        push(store, *messages(5_500, metadata={"c": "red"}))
    push(store, message("found", metadata={"c": "blue"}))
    want = Want(where=where({"c": "blue"}))
    first, second = (store.claim("q", [want], now=T0)[0] for _ in range(2))
    assert (payloads(first), payloads(second)) == ([], ["found"])
    push(store, message("behind", metadata={"c": "blue"}, priority=9))
    assert payloads(store.claim("q", [want], now=T0)[0]) == ["behind"]


def test_a_claim_that_finds_thousands_overdue_still_finds_what_is_not(store: RedisStore) -> None:
    put_queue(store, max_age=span(60))
    for _ in range(3):
        push(store, *messages(2_000))
    push(store, message("young"), now=after(30))
    assert payloads(claim(store, now=after(60))) == ["young"]
    assert states(store, now=after(60)) == {"leased": 1, "dead": 6_000}


def mixed() -> list[Message]:
    """Make messages alike, and among them some of every kind that is not."""
    given = messages(12)
    given[1:1] = [message("first of g", group="g", priority=7), message("late", delay=span(5))]
    given[4:4] = [message("urgent", priority=9), message("dated", deadline=after(3600))]
    given[8:8] = [message("second of g", group="g", priority=9), message("told", metadata={"a": "b"})]
    return given


def worked_through(store: Store, given: list[Message]) -> list[Any]:
    """Claim and settle so that some messages go together and others alone; tell all that was answered."""
    told: list[Any] = []
    put_queue(store, max_attempts=2)
    push(store, *given)
    for round in range(5):
        now = after(100 * round)
        found = claim(store, 30 if round else 9, now=now, lease=span(50), consumer=f"w{round}", share=False)
        told += [each._replace(token=b"") for each in found]
        kept = {0, 3, 5, 6} if round < 3 else set()
        others: list[tuple[int, Outcome]] = [(0, Retry(delay=span(1), error="again")), (3, Release())]
        for place, outcome in others:
            if place in kept and place < len(found):
                settle(store, found[place], outcome, now=now)
        acks = [each.receipt for place, each in enumerate(found) if place not in kept]
        wrong = [Receipt(each.seq, b"x" * 16) for each in acks[:1]] + [Receipt(10**12, b"y" * 16)]
        told += store.settle([Settlement(each, ACK) for each in [*wrong, *acks, *acks[:2]]], now=now)
        told.append((states(store, now=now), everything(store, now=now)))
    return told


def test_messages_alike_and_others_end_as_in_memory(store: RedisStore) -> None:
    given = mixed()
    with closing(open_store("memory://")) as other:
        assert worked_through(store, given) == worked_through(other, given)


def test_nothing_is_left_of_messages_alike_but_that_they_are_done(store: RedisStore, redis_url: str) -> None:
    put_queue(store)
    push(store, *messages(3, priority=3), *messages(3, priority=5), now=T0)
    settle(store, claim_one(store), Retry(error="again"))
    held = claim(store, 10, share=False)
    assert len({each.seq for each in held}) == len(held) == 6
    assert ours(store, redis_url) >= {"q:1:due:3", "q:1:due:5", "q:1:held", "q:1:open"}
    assert set(store.settle([Settlement(each.receipt, ACK) for each in held], now=T0)) == {Settled.SETTLED}
    left = {key for key in ours(store, redis_url) if key.startswith("q:1:")}
    kept = {"q:1:done", "q:1:done:0", "q:1:counts", "q:1:ended", "q:1:failed", "q:1:happened"}
    assert left == kept
    with connect_redis(redis_url) as connection:
        counts = connection.hgetall(f"{store.server.options.root}q:1:counts")
    assert counts == {b"open": b"0", b"done": b"6"}
    assert found(store, State.DONE) == sorted(each.seq for each in held)


def found(store: RedisStore, state: State, limit: int = 100, queue: str = "q") -> list[int]:
    """All seqs in a state, read so many at a time."""
    seqs, after = list[int](), 0
    while True:
        page = store.history.find(queue, state=state, after=after, limit=limit, now=T0)
        seqs += [each.seq for each in page.records]
        if page.after is None:
            return seqs
        after = page.after


def scattered(store: RedisStore, redis_url: str) -> None:
    """Push messages beside each other, over the ends of numbers and pages, and behind those of others."""
    put_queue(store)
    put_queue(store, "other")
    with connect_redis(redis_url) as connection:
        for gap, count in ((30, 5), (986, 9), (1, 70), (50_000, 2), (2**40, 3), (31, 1), (1, 1000)):
            push(store, message(), queue="other")
            connection.incrby(f"{store.server.options.root}last_seq", gap)
            push(store, *messages(count))


def settled_at_random(store: RedisStore) -> dict[State, set[int]]:
    """Settle most of what there is, and tell which messages are in which state."""
    chance = Random(5)  # noqa: S311 - the same each time
    ways: dict[State, Outcome] = {State.DONE: ACK, State.DEAD: Bury(), State.READY: Release()}
    of = {each.seq: State.READY for each in store.history.scan(1, 2**53, queue="q", now=T0)}
    for held in claim(store, 500), claim(store, 500):
        for each in held:
            of[each.seq] = chance.choice([*ways])
            settle(store, each, ways[of[each.seq]])
    return {state: {seq for seq in of if of[seq] == state} for state in ways}


def test_messages_are_found_by_seq_however_far_apart_they_are(store: RedisStore, redis_url: str) -> None:
    scattered(store, redis_url)
    known = settled_at_random(store)
    assert sum(map(len, known.values())) == 1090
    stats = store.queues.stats("q", now=T0)
    counts = {State.READY: stats.ready, State.DONE: stats.done, State.DEAD: stats.dead}
    assert counts == {state: len(seqs) for state, seqs in known.items()}
    for state, seqs in known.items():
        assert found(store, state, 7) == found(store, state, 1000) == sorted(seqs)
    every = sorted(set().union(*known.values()))
    assert store.history.bounds() == (1, every[-1])
    first, last = every[50], every[-50]
    assert [each.seq for each in store.history.scan(first, last, queue="q", now=T0)] == every[50:-49]
    assert store.history.redrive("q", limit=3, now=T0) == 3
    assert found(store, State.DEAD) == sorted(known[State.DEAD])[3:]
    assert store.queues.purge("q", now=T0) == len(known[State.READY]) + 3
    assert store.history.archive(every, prune=True, now=T0) == len(every) - len(known[State.READY]) - 3
    assert not [key for key in ours(store, redis_url) if re.match("q:1:(open|done|dead)", key)]


def as_it_was(store: RedisStore, redis_url: str) -> None:
    """Have the keys of the former layout: a state is a sorted set of seqs."""
    root, parts = store.server.options.root, {"open": State.READY, "done": State.DONE, "dead": State.DEAD}
    with connect_redis(redis_url) as connection:
        for id, queue in ((1, "q"), (2, "other")):
            was = {part: found(store, state, queue=queue) for part, state in parts.items()}
            for part, seqs in was.items():
                connection.delete(*connection.keys(f"{root}q:{id}:{part}*"), f"{root}q:{id}:counts")
                if seqs:
                    connection.zadd(f"{root}q:{id}:{part}", {f"{seq:016}": seq for seq in seqs})
        connection.set(f"{root}layout", "1")


@pytest.mark.parametrize("pieces", [0, 1, 4], ids="{} pieces before".format)
def test_keys_of_the_former_layout_are_brought_up_to_this_one(
    store: RedisStore, redis_url: str, pieces: int
) -> None:
    scattered(store, redis_url)
    known = settled_at_random(store)
    stats, bounds = store.queues.stats("q", now=T0), store.history.bounds()
    as_it_was(store, redis_url)
    for _ in range(pieces):
        assert 0 < store.server.call("bits", 100) <= 100
    half = " to 2" if pieces else ""
    for migrate in (False, True):
        with pytest.raises(SchemaOutdated, match=rf"of layout 1{half}, .* then run: rowmq migrate"):
            open_store(redis_url, migrate=migrate)
    assert store.migrate() == ["layout 2"]
    with closing(opened(redis_url)) as again:
        assert (again.queues.stats("q", now=T0), again.history.bounds()) == (stats, bounds)
        assert all(found(again, state) == sorted(seqs) for state, seqs in known.items())
        assert again.migrate() == []
    assert not [key for key in ours(store, redis_url) if key == "moving" or key.endswith(":seqs")]


def test_every_script_says_what_it_does_takes_and_returns() -> None:
    scripts = sorted(LUA.glob("*.lua"))
    assert len(scripts) > 30
    for path in scripts:
        shebang, parts, *rest = path.read_text().splitlines()
        header = "\n".join(line for line in rest if line.startswith("--"))
        assert re.fullmatch("#!lua( flags=(allow-oom|no-writes))?", shebang), path
        assert all(
            (LUA / "shared" / f"{part}.lua").exists() for part in parts.removeprefix("--! ").split()
        ), path
        assert "-- KEYS[1] prefix\n" in header, path
        assert "-- Result: " in header, path
        assert ("ARGV" in "\n".join(rest).replace(header, "")) == ("-- ARGV" in header), path


def test_the_first_wait_ends_at_once_because_nobody_listened_before(store: RedisStore) -> None:
    put_queue(store)
    assert store.wait(["q"], timedelta(seconds=20))
    assert not store.wait(["q"], timedelta(milliseconds=1))


def test_who_waits_again_and_again_does_not_ask_for_the_queue_each_time(
    alone: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_queue(alone)
    alone.wait(["q"], timedelta(0))
    before = calls(alone)
    for _ in range(5):
        alone.wait(["q"], timedelta(0))
    assert (calls(alone) - before)["evalsha"] == 0
    monkeypatch.setattr(ids, "FRESH", 0.0)
    alone.wait(["q"], timedelta(0))
    assert (calls(alone) - before)["evalsha"] == 1


def test_what_happened_in_queues_without_number_takes_no_more_room_than_a_few(store: RedisStore) -> None:
    listening = Listening(store.server)
    for number in range(2 * MOST):
        listening._note(b"%d" % number)
    assert len(listening._happened) == MOST
    seen = listening._seen([b"0"])
    listening._note(b"0")
    assert listening._seen([b"0"]) != seen


def test_a_wait_ends_when_another_store_pushes(store: RedisStore, redis_url: str) -> None:
    put_queue(store)
    store.wait(["q"], timedelta(0))
    with closing(opened(redis_url)) as other:
        for _ in range(100):
            if store.wait(["q"], timedelta(milliseconds=20)):
                break
            other.push([Batch("q", [message()])])
        else:
            raise AssertionError("nobody was woken")
