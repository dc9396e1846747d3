"""GOMQ's lists in Redis: what waits in a key, and what each of its consumers has still to receive."""

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from rowmq.core.errors import InvalidURL, MissingDependency, StoreUnavailable
from rowmq.pipeline.importing.rows import Old, Part, Place, derived

if TYPE_CHECKING:
    import redis

QUEUE, CONSUMERS, PEERS, MESSAGES = "QUEUE_", "CONSUMERS_", "PEERS_", "MESSAGES_"
SETTINGS = {"fifo": True, "max_attempts": None, "retention": timedelta(0), "lease": timedelta(seconds=60)}
"""Of the queue in which a consumer's next peer finds what waits for it."""
FETCHED = 1_000
WRITTEN = "%a %b %d %H:%M:%S %Y"


class Gomq:
    """A key with consumers becomes a queue for each of them; one without, a topic that keeps its messages.

    Names are looked up in GOMQ's own sets and never read out of the names of keys, which may be ambiguous.
    """

    def places(self, url: str) -> list[Place]:
        """The consumers of each key, or the key itself."""
        with connected(url) as client:
            waiting = {_after(QUEUE, name) for name in client.scan_iter(f"{QUEUE}*")}
            keys = sorted(waiting | {_after(CONSUMERS, name) for name in client.scan_iter(f"{CONSUMERS}*")})
            return [place for key in keys for place in _places(client, key)]

    def parts(self, url: str, place: Place) -> list[Part]:  # noqa: ARG002 - the order of a list is kept by one reader
        """One: a list has an order."""
        return [Part()]

    def read(self, url: str, place: Place, part: Part, now: datetime) -> Iterator[Old]:  # noqa: ARG002 - as above
        """The records of the lists one after another, each once: every peer of a consumer has a copy."""
        seen: set[str] = set()
        with connected(url) as client:
            for name in json.loads(place.where):
                for record in _records(client, name):
                    if record["id"] not in seen:
                        seen.add(record["id"])
                        yield _old(record, place, len(seen), now)


def _places(client: "redis.Redis", key: str) -> Iterator[Place]:
    consumers = _members(client, CONSUMERS + key)
    if not consumers:
        yield Place(key, json.dumps([QUEUE + key]), key, topic=True)
    for consumer in consumers:
        lists = [f"{MESSAGES}{key}_{consumer}_{peer}" for peer in _members(client, PEERS + consumer)]
        where = json.dumps([*lists, QUEUE + key])
        yield Place(key, where, inbox_of(consumer, key), settings=_settings(consumer, key))


def inbox_of(consumer: str, key: str) -> str:
    """The name of the queue for a consumer's next peer: it tells nothing, the tags do."""
    said = f"import:{len(consumer)}:{consumer}{len(key)}:{key}"
    return f"gomq.{hashlib.sha256(said.encode()).hexdigest()[:40]}"


def _settings(consumer: str, key: str) -> dict[str, Any]:
    since = datetime.now(UTC).isoformat()
    tags = {
        "rowmq": "gomq",
        "since": since,
        "consumer": consumer,
        "key": key,
        "peer": "",
        "server": "",
        "run": "",
    }
    return {**SETTINGS, "tags": tags}


def _old(record: dict[str, Any], place: Place, number: int, now: datetime) -> Old:
    return Old(
        id=derived("gomq", place.target, record["id"]),
        body=base64.b64decode(record.get("payload") or ""),
        binary=True,
        created_at=_written(record.get("timestamp", "")) or now,
        place=number,
    )


def _written(text: str) -> datetime | None:
    """Go's UnixDate; its zone is a name that may mean many, so it is taken for UTC."""
    words = text.split()
    try:
        return datetime.strptime(" ".join([*words[:4], *words[-1:]]), WRITTEN).replace(tzinfo=UTC)
    except ValueError:
        return None


def _records(client: "redis.Redis", name: str) -> Iterator[dict[str, Any]]:
    start = 0
    while found := client.lrange(name, start, start + FETCHED - 1):
        yield from (json.loads(each) for each in found)
        start += len(found)


def _members(client: "redis.Redis", name: str) -> list[str]:
    found: set[Any] = client.smembers(name)
    return sorted(each.decode() for each in found)


def _after(prefix: str, name: bytes) -> str:
    return name.decode().removeprefix(prefix)


@contextmanager
def connected(url: str) -> Iterator["redis.Redis"]:
    """A connection to Redis; InvalidURL or StoreUnavailable if there is none."""
    try:
        import redis  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise MissingDependency("GOMQ keeps its messages in Redis: pip install 'rowmq[redis]'") from None
    try:
        with redis.Redis.from_url(url) as client:
            yield client
    except ValueError:
        raise InvalidURL(
            "GOMQ keeps its messages in Redis: --from is a URL like redis://host:6379/0"
        ) from None
    except redis.RedisError as error:
        raise StoreUnavailable(f"what is to be imported cannot be read: {error}") from None
