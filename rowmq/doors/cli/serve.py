"""Serving over HTTP and gRPC."""

import os
import sys
from collections.abc import Mapping
from typing import Any

import click

from rowmq.core.errors import InvalidSetting
from rowmq.doors.cli.beside import Grpc, beside
from rowmq.doors.cli.session import Session, with_session
from rowmq.doors.cli.words import SPAN
from rowmq.runtime.config import Config, load
from rowmq.runtime.config import options as all_options
from rowmq.runtime.log import configure, redacted

SPANS = ("request_timeout", "stop_timeout")
PLAIN = (
    "host",
    "port",
    "workers",
    "tokens",
    "tls_cert",
    "tls_key",
    "insecure",
    "public_url",
    "access_log",
    "grpc",
    "grpc_port",
    "archive",
    "reports",
)
VARIABLES = {"PORT": "ROWMQ_SERVER_PORT", "REQUEST_TIMEOUT": "ROWMQ_SERVER_REQUEST_TIMEOUT"}
"""What hq calls some of our variables; ours count more."""
MEMORY = ":memory:"


@click.command()
@click.option("--host", metavar="HOST", help="The address to listen at; this machine alone by default.")
@click.option("-p", "--port", type=click.IntRange(0, 65535), help="The port to listen at; 9999 by default.")
@click.option(
    "--grpc-port", type=click.IntRange(0, 65535), help="The port to listen at for gRPC; 10001 by default."
)
@click.option("--grpc/--no-grpc", default=None, help="Whether to serve gRPC, too.")
@click.option("-r", "--request-timeout", type=SPAN, help="How long a request may take, long polls apart.")
@click.option("-d", "--database", metavar="FILE", help="A SQLite file, or :memory:, instead of --url.")
@click.option("-w", "--workers", type=click.IntRange(1, 256), help="How many processes serve.")
@click.option("--tokens", metavar="FILE", help="The file of tokens; see rowmq tokens.")
@click.option("--tls-cert", metavar="FILE", help="The file of the certificate, its chain included.")
@click.option("--tls-key", metavar="FILE", help="The file of the certificate's key.")
@click.option("--insecure", is_flag=True, default=None, help="Listen beyond this machine without TLS.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="A name of this server; may be repeated.")
@click.option("--public-url", metavar="URL", help="The URL that callers know this server by.")
@click.option("--access-log/--no-access-log", default=None, help="Whether to log every request.")
@click.option("--archive", metavar="FOLDER", help="The archive that the dashboard shows.")
@click.option("--reports", metavar="FOLDER", help="The reports that the dashboard shows.")
@click.option("--stop-timeout", type=SPAN, help="How long requests under way get to finish at a stop.")
@click.option("--log-level", metavar="LEVEL", help="debug, info, warning, error or critical.")
@click.option("--log-format", metavar="FORMAT", help="text or json.")
@with_session
def serve(session: Session, **options: Any) -> None:
    """Serve the store until a signal comes: our own API, hq's and SQS over HTTP, ours and GOMQ's over gRPC.

    A browser that opens its address sees the dashboard.

    At the first SIGINT or SIGTERM whoever waits for messages is answered and requests under way are
    finished; a second one ends the process.
    """
    config = load(_arguments(session, options), environment=_environment())
    configure(config.log.level, config.log.format)
    try:
        from rowmq.doors.http.launch import launch  # noqa: PLC0415 - an extra, and nobody else should pay for it
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("rowmq"):
            raise
        raise ModuleNotFoundError(
            "serving needs packages that are not installed; run: pip install 'rowmq[server]'"
        ) from None
    with beside(config) as grpc:
        launch(config, lambda url: _tell(session, config, url, grpc), grpc and grpc.begin)


def _tell(session: Session, config: Config, url: str, grpc: Grpc | None) -> None:
    """The first line: where the server is, and where to go from there."""
    store = redacted(config.url)
    pages = {"dashboard": f"{url}/ui", "docs": f"{url}/docs"}
    said = {"url": url, "grpc": grpc and grpc.url, "store": store, **pages}
    also = f" and {grpc.url}" if grpc else ""
    session.out.result(said, f"RowMQ serves {store} at {url}{also} (dashboard: {url}/ui, API: {url}/docs)")
    sys.stdout.flush()


def _arguments(session: Session, options: Mapping[str, Any]) -> dict[str, Any]:
    """What was said on the line, by the names of the configuration."""
    said = {f"server.{name}": options[name] for name in PLAIN}
    said |= {f"server.{name}": options[name] and options[name].total_seconds() for name in SPANS}
    said |= {"log.level": options["log_level"], "log.format": options["log_format"]}
    said["server.allow_host"] = ",".join(options["allow_host"]) or None
    said["url"] = _url(session.url, options["database"])
    if session.out.as_json and options["log_format"] is None:
        said["log.format"] = "json"
    return said


def _url(url: str | None, database: str | None) -> str | None:
    if url is not None and database is not None:
        raise InvalidSetting("say --url or --database, not both")
    return url if database is None else store_url(database)


def store_url(database: str) -> str:
    """The URL of a database as hq is told of one: a file, or none.

    >>> store_url("hq.db"), store_url(":memory:"), store_url("postgresql://db/jobs")
    ('sqlite:///hq.db', 'memory://', 'postgresql://db/jobs')
    """
    if database == MEMORY:
        return "memory://"
    return database if "://" in database else f"sqlite:///{database}"


def _environment() -> dict[str, str]:
    """The variables, where hq's stand for ours unless ours are there."""
    known = {each.env: each for each in all_options()}
    found = {ours: theirs for theirs, ours in VARIABLES.items() if os.environ.get(theirs)}
    for ours, theirs in found.items():
        known[ours].parse(os.environ[theirs], theirs)
    said = {ours: os.environ[theirs] for ours, theirs in found.items()}
    if os.environ.get("DATABASE"):
        said["ROWMQ_URL"] = store_url(os.environ["DATABASE"])
    return said | {name: value for name, value in os.environ.items() if value}
