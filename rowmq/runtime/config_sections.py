"""The options by section, with their defaults, what they mean and what they may be."""

from dataclasses import dataclass, field
from typing import Any


def option(
    default: Any,
    help: str,
    *,
    least: float | None = None,
    most: float | None = None,
    choices: tuple[str, ...] = (),
    path: bool = False,
) -> Any:
    """One option of a section: its default, what it means, and what it may be."""
    said = {"help": help, "least": least, "most": most, "choices": choices, "path": path}
    return field(default=default, metadata=said)


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """What ``rowmq work`` runs with."""

    concurrency: int = option(8, "How many handlers run at once in one process.", least=1)
    buffer: int = option(
        2000,
        "How many claimed messages may wait for a handler; on PostgreSQL, while quick messages are plenty,"
        " one batch more.",
        least=1,
    )
    batch: int = option(1000, "How many messages one claim takes at most.", least=1, most=100_000)
    poll: float = option(1.0, "Seconds between looks at queues that have nothing.", least=0.001)
    lease: float | None = option(
        None, "Seconds a message is held before others may have it; the queue's lease if unset.", least=0.001
    )
    timeout: float | None = option(None, "Seconds a handler may run; no end if unset.", least=0.001)
    stop_timeout: float = option(30.0, "Seconds that running handlers get to finish at a stop.", least=0)
    processes: int = option(1, "How many processes run a worker each.", least=1, most=1024)
    sweep_every: float = option(10.0, "Seconds between sweeps of overdue and old messages.", least=0.001)


@dataclass(frozen=True, slots=True)
class ProducerConfig:
    """What ``rowmq push --from`` gathers messages with."""

    batch: int = option(
        1, "How many messages are pushed together; rowmq push --from takes 500 if this is 1.", least=1
    )
    linger: float = option(
        0.05, "Seconds after which a batch that is not full is pushed all the same.", least=0
    )
    buffer: int = option(10_000, "How many messages may wait to be pushed.", least=1)


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    """What ``rowmq observe`` registers with."""

    batch: int = option(10, "How many messages one claim takes at most.", least=1, most=100_000)
    beat: float = option(2.0, "Seconds between signs of life.", least=0.001)
    check_every: int = option(5, "Beats between looks at one's place among the others.", least=1)
    missed: int = option(3, "Missed beats after which a consumer is forgotten.", least=1)


@dataclass(frozen=True, slots=True)
class LogConfig:
    """What ``rowmq work`` logs to standard error."""

    level: str = option(
        "info",
        "The least important events to log.",
        choices=("debug", "info", "warning", "error", "critical"),
    )
    format: str = option("text", "Lines for people or for machines.", choices=("text", "json"))


@dataclass(frozen=True, slots=True)
class MetricsConfig:
    """Where ``rowmq work`` serves metrics."""

    host: str = option("127.0.0.1", "The address that metrics are served at.")
    port: int | None = option(
        None, "The port that metrics are served at; none if unset.", least=1, most=65535
    )


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """What ``rowmq serve`` serves with."""

    host: str = option("127.0.0.1", "The address to listen at; beyond this machine only with tokens.")
    port: int = option(9999, "The port to listen at; 0 takes any that is free.", least=0, most=65535)
    grpc: bool = option(True, "Whether to serve gRPC, too, if its packages are installed.")  # noqa: FBT003
    grpc_port: int = option(
        10001, "The port to listen at for gRPC; 0 takes any that is free.", least=0, most=65535
    )
    workers: int = option(
        1, "How many processes serve; more than one needs a database server.", least=1, most=256
    )
    request_timeout: float = option(30.0, "Seconds a request may take, long polls apart.", least=0.001)
    stop_timeout: float = option(30.0, "Seconds that requests under way get to finish at a stop.", least=0)
    header_timeout: float = option(10.0, "Seconds a request's head may take to arrive.", least=0.001)
    body_timeout: float = option(
        10.0, "Seconds a body may take for each 10 KiB, coming or going.", least=0.001
    )
    keep_alive: int = option(30, "Seconds a connection may be idle between requests.", least=1)
    connections: int = option(10_000, "How many connections there may be in one process.", least=1)
    tokens: str | None = option(None, "The file of tokens; everybody may do everything if unset.", path=True)
    tls_cert: str | None = option(None, "The file of the certificate, its chain included.", path=True)
    tls_key: str | None = option(
        None, "The file of the certificate's key; in the same file if unset.", path=True
    )
    insecure: bool = option(False, "Whether to listen beyond this machine without TLS.")  # noqa: FBT003
    allow_host: str | None = option(
        None, "Names that callers may use for this server, with commas between; this machine's own if unset."
    )
    public_url: str | None = option(None, "The URL that callers know this server by, if it is another one.")
    access_log: bool = option(False, "Whether every request is logged.")  # noqa: FBT003
    archive: str | None = option(None, "The folder of the archive, for the dashboard to show.", path=True)
    reports: str = option("reports", "The folder of reports, for the dashboard to show.", path=True)


@dataclass(frozen=True, slots=True)
class SQSConfig:
    """How ``rowmq serve`` looks to AWS's clients."""

    account: str = option("000000000000", "The account in queue URLs and ARNs.")
    region: str = option("us-east-1", "The region in ARNs.")
    purge_wait: bool = option(False, "Whether a minute passes between two purges, as at AWS.")  # noqa: FBT003
    delete_wait: bool = option(False, "Whether a deleted queue's name is free after a minute, as at AWS.")  # noqa: FBT003
