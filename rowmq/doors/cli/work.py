"""Working in the foreground."""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import click

from rowmq.core.errors import InvalidSetting
from rowmq.doors.cli.completion import complete_queue
from rowmq.doors.cli.loading import load_client
from rowmq.doors.cli.session import Session, with_session
from rowmq.doors.cli.words import MEETS, SPAN, all_of
from rowmq.runtime.client import Client
from rowmq.runtime.config import Config, load
from rowmq.runtime.log import configure
from rowmq.runtime.metrics import Metrics

SPANS = ("poll", "lease", "timeout", "stop_timeout", "sweep_every")
"""Options of the configuration that are spans: seconds there, spans on the line."""


@click.command()
@click.argument("target", metavar="MODULE:NAME")
@click.option(
    "-q", "--queue", "queues", multiple=True, shell_complete=complete_queue,
    help="Work on this queue only; may be repeated. All with a handler or a task by default.",
)  # fmt: skip
@click.option("-c", "--concurrency", type=int, help="How many handlers run at once.")
@click.option("--buffer", type=int, help="How many claimed messages may wait for a handler.")
@click.option("--batch", type=int, help="How many messages one claim takes at most.")
@click.option("--poll", type=SPAN, help="How often to look at queues that have nothing.")
@click.option("--lease", type=SPAN, help="How long a message is held before others may have it.")
@click.option("--timeout", type=SPAN, help="How long a handler may run.")
@click.option("--sweep-every", type=SPAN, help="How often to sweep.")
@click.option("-p", "--processes", type=int, help="How many processes run a worker each.")
@click.option("--stop-timeout", type=SPAN, help="How long running handlers get to finish at a stop.")
@click.option("--where", type=MEETS, multiple=True, help="Only where metadata says so; may be repeated.")
@click.option("--max-age", type=SPAN, help="Only messages that are not older.")
@click.option("--name", metavar="NAME", help="The worker's name.")
@click.option("--stop-when-empty", is_flag=True, help="Stop once there is nothing left.")
@click.option("--sweep/--no-sweep", default=True, help="Whether to clear up, too.")
@click.option("--schedules/--no-schedules", default=True, help="Whether to fire schedules, too.")
@click.option("--metrics-host", metavar="HOST", help="The address that metrics are served at.")
@click.option("--metrics-port", type=int, help="The port that metrics are served at.")
@click.option("--log-level", metavar="LEVEL", help="debug, info, warning, error or critical.")
@click.option("--log-format", metavar="FORMAT", help="text or json.")
@with_session
def work(session: Session, *, target: str, queues: Sequence[str], **options: Any) -> None:
    """Run the handlers and tasks of a client until a signal comes.

    MODULE:NAME is a client, such as app.jobs:mq; MODULE alone is enough if it has only one. At the
    first SIGINT or SIGTERM running handlers finish; a second one ends the process.
    """
    config = load(_arguments(session, options))
    if session.url is not None:  # for a module that leaves the URL to its surroundings
        os.environ["ROWMQ_URL"] = session.url
    configure(config.log.level, config.log.format)
    client = load_client(target)
    with ExitStack() as stack:
        stack.callback(client.close)
        _serve_metrics(stack, client, config)
        client.work(*queues, **_worker_options(config, options))


def _arguments(session: Session, options: Mapping[str, Any]) -> dict[str, Any]:
    """What was said on the line that the configuration has a word for, checked as it checks all else."""
    said: dict[str, Any] = {"url": session.url}
    for name in ("concurrency", "buffer", "batch", "processes", *SPANS):
        value = options[name]
        said[f"worker.{name}"] = value.total_seconds() if name in SPANS and value is not None else value
    for name in ("log_level", "log_format", "metrics_host", "metrics_port"):
        said[name.replace("_", ".")] = options[name]
    if session.out.as_json and options["log_format"] is None:
        said["log.format"] = "json"
    return said


def _worker_options(config: Config, options: Mapping[str, Any]) -> dict[str, Any]:
    named = ("concurrency", "buffer", "batch", "processes", *SPANS)
    plain = ("max_age", "name", "stop_when_empty", "sweep", "schedules")
    return {
        **{name: getattr(config.worker, name) for name in named},
        **{name: options[name] for name in plain},
        "where": all_of(options["where"]),
    }


def _serve_metrics(stack: ExitStack, client: Client, config: Config) -> None:
    if config.metrics.port is None:
        return
    if config.worker.processes > 1:
        raise InvalidSetting("metrics are served by one process: run one, or each with a port of its own")
    metrics = Metrics(store=client.store)
    client.use(metrics)
    stack.callback(metrics.serve(config.metrics.port, config.metrics.host).close)
