"""The systems that are compared: where each keeps its messages, its packages and their versions."""

from __future__ import annotations

from typing import NamedTuple

STORES = ("sqlite", "postgres", "mysql", "redis", "sqs")
TITLES = dict(zip(STORES, ("SQLite", "PostgreSQL", "MariaDB", "Redis", "SQS over HTTP"), strict=True))
OURS, BARE = "RowMQ", "bare loop"
NODE = "node@22.23.3"
"""Debian's Node.js is older than what these packages ask for; npm has newer ones, by name."""


class System(NamedTuple):
    """One system on one store; its settings, and why, are what its adapter says in `describe`."""

    store: str
    name: str
    adapter: str
    packages: tuple[str, ...] = ()
    python: tuple[int, int] | None = None
    """The oldest Python it runs on, if that is newer than ours may be."""
    arguments: tuple[str, ...] = ()
    alone: bool = False
    """Whether only one worker may work at a time."""
    processes: int = 1
    """How many processes work."""
    again: bool = False
    """Whether it is an earlier one once more, set up in another way: not for the long matrix."""

    @property
    def home(self) -> str:
        """The name of its environment; systems with the same packages share one."""
        return self.adapter.partition("_adapter")[0]

    @property
    def is_node(self) -> bool:
        """Whether its adapter is JavaScript."""
        return self.adapter.endswith(".mjs")


OWN = tuple(System(store, OURS, "rowmq_adapter.py", arguments=(store,)) for store in STORES[:-1])
LIMITS = tuple(System(store, BARE, "bare_adapter.py") for store in STORES[:-1])
GRAPHILE = System(
    "postgres", "graphile-worker", "graphile-worker_adapter.mjs", (NODE, "graphile-worker@0.18.0")
)
PEERS = (
    System("sqlite", "huey", "huey_adapter.py", ("huey==3.5.4",)),
    System("sqlite", "litequeue", "litequeue_adapter.py", ("litequeue==0.9",)),
    System("sqlite", "persist-queue", "persistqueue_adapter.py", ("persist-queue==1.1.0",)),
    System(
        "sqlite",
        "persist-queue, batches",
        "persistqueue_adapter.py",
        ("persist-queue==1.1.0",),
        arguments=("batch",),
        alone=True,
        again=True,
    ),
    GRAPHILE,
    GRAPHILE._replace(name="graphile-worker, two processes", processes=2, again=True),
    System("postgres", "pgmq", "pgmq_adapter.py", ("pgmq==1.1.4", "psycopg[binary]==3.3.8")),
    System("postgres", "pgqueuer", "pgqueuer_adapter.py", ("pgqueuer[asyncpg]==1.6.0", "uvloop==0.23.0")),
    # 12.36 and later ask for a package (rrule-temporal 2.2.8) that the registry did not have.
    System("postgres", "pg-boss", "pg-boss_adapter.mjs", (NODE, "pg-boss@12.35.0")),
    System("postgres", "oban", "oban_adapter.py", ("oban==0.7.0",), python=(3, 12)),
    System(
        "postgres",
        "procrastinate",
        "procrastinate_adapter.py",
        ("procrastinate==3.10.0", "psycopg[binary]==3.3.8"),
    ),
    System("redis", "BullMQ", "bullmq_adapter.mjs", (NODE, "bullmq@6.7.0", "ioredis@5.9.2"), processes=2),
    System("redis", "celery", "celery_adapter.py", ("celery[redis]==5.7.0",)),
    System("redis", "dramatiq", "dramatiq_adapter.py", ("dramatiq[redis]==2.2.1",)),
    System("redis", "rq", "rq_adapter.py", ("rq==2.12.0",)),
)
SQS = (
    System("sqs", OURS, "sqs_adapter.py", arguments=("rowmq",)),
    System("sqs", "moto_server", "sqs_adapter.py", ("moto[server,sqs]==5.2.5",), arguments=("moto",)),
)
SYSTEMS = OWN + LIMITS + PEERS + SQS
QUICK = {OURS, BARE, "graphile-worker", "pgqueuer", "BullMQ", "huey"}


def chosen(*, stores: tuple[str, ...], names: tuple[str, ...], quick: bool) -> list[System]:
    """The systems to run: all, those of some stores, some by name, or the few of a quick run.

    >>> [system.name for system in chosen(stores=("sqlite",), names=("huey",), quick=False)]
    ['RowMQ', 'bare loop', 'huey']
    """
    wanted = set(names) | {OURS, BARE} if names else (QUICK if quick else {each.name for each in SYSTEMS})
    found = [each for each in SYSTEMS if each.name in wanted and (not stores or each.store in stores)]
    compared = {each.store for each in found if each.name not in (OURS, BARE)}
    if names or quick:
        found = [each for each in found if each.store in compared or (stores and each.store in stores)]
    return sorted(found, key=lambda each: STORES.index(each.store))
