"""Stores in Spark's processes: each opens its own from the URL; none is sent from one to another."""

import os
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from rowmq.core.errors import InvalidSetting, InvalidURL, QueueNotFound, StoreUnavailable
from rowmq.core.store import Store
from rowmq.pipeline.options import Origin
from rowmq.stores import open_store

_STORES: dict[tuple[int, str], Store] = {}
"""By process too: Spark forks its Python workers, and a child must not use what its parent opened."""


def store_at(url: str) -> Store:
    """The store a URL names, opened the first time this process asks; its tables must be there.

    Raises InvalidURL for a store in memory, which no other process could see, and StoreUnavailable for a file
    that is not there.
    """
    key = os.getpid(), url
    if key not in _STORES:
        refuse_memory(url)
        refuse_missing(url)
        _STORES[key] = open_store(url, migrate=False)
    return _STORES[key]


def absolute(url: str) -> str:
    """The URL with the path of an SQLite file made absolute: Spark's processes may run in another folder."""
    path = _file(url)
    if path is None:
        return url
    return make_url(url).set(database=str(path.absolute())).render_as_string(hide_password=False)


def refuse_memory(url: str) -> None:
    """Raise InvalidURL if the URL names a store that only its own process can see."""
    kind, _, rest = url.partition("?")[0].partition(":")
    if kind == "memory" or (kind.startswith("sqlite") and rest.strip("/") in ("", ":memory:")):
        raise InvalidURL(
            "a store in memory is seen by its own process alone, and Spark has many:"
            " use a file, such as sqlite:///jobs.db, or a database server"
        )


def refuse_missing(url: str) -> None:
    """Raise StoreUnavailable for an SQLite file that is not there; opening it would make an empty one."""
    path = _file(url)
    if path is not None and not path.exists():
        raise StoreUnavailable(
            f"there is no file {path} on this machine: Spark reads SQLite where the file is, so give its"
            " absolute path and use a local master, or keep messages on a database server"
        )


def _file(url: str) -> Path | None:
    """The SQLite file that a URL names; None if it names something else."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        return None  # whoever opens it says what is wrong
    if parsed.get_backend_name() != "sqlite" or parsed.database in (None, "", ":memory:"):
        return None
    return Path(str(parsed.database))


def check_origin(store: Store, origin: Origin) -> None:
    """Raise QueueNotFound or InvalidSetting unless the queue, or the topic's subscription, is there."""
    if origin.source is not None and store.queues.get(origin.source) is None:
        raise QueueNotFound(origin.source)
    if origin.topic is not None and (origin.topic, origin.source) not in store.topics.bindings(origin.topic):
        raise InvalidSetting(
            f"the queue {origin.source!r} is not bound to the topic {origin.topic!r};"
            " bind it first, or read it with option queue"
        )
