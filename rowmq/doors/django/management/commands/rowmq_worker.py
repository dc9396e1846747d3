"""``manage.py rowmq_worker``: run tasks until a signal comes."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from rowmq.core.errors import RowMQError
from rowmq.doors.django import known
from rowmq.doors.django.backend import RowMQBackend
from rowmq.doors.django.framework import backends
from rowmq.doors.django.running import client_for
from rowmq.runtime.consumer import new_name


class Command(BaseCommand):
    """Run a worker for one backend's tasks."""

    help = "Run the tasks of a RowMQ backend until SIGINT or SIGTERM."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Say what can be said."""
        parser.add_argument("--backend", default="default", help="the alias in TASKS")
        parser.add_argument("--queue", action="append", default=[], help="a queue to serve; may be repeated")
        parser.add_argument("--concurrency", type=int, default=8, help="tasks at once (8)")
        parser.add_argument("--processes", type=int, default=1, help="worker processes (1)")
        parser.add_argument(
            "--stop-timeout", type=float, default=30, help="seconds that tasks have to finish"
        )
        parser.add_argument("--stop-when-empty", action="store_true", help="end once nothing is due")

    def handle(self, **options: Any) -> None:
        """Work."""
        backend = backends[options["backend"]]
        if not isinstance(backend, RowMQBackend):
            raise CommandError(f"the backend {options['backend']!r} of TASKS is not RowMQ's")
        try:
            self._work(backend, options)
        except RowMQError as error:
            raise CommandError(str(error)) from error

    def _work(self, backend: RowMQBackend, options: dict[str, Any]) -> None:
        queues = options["queue"] or _queues(backend)
        worker = new_name()
        with client_for(backend, queues, worker) as client:
            connections.close_all()  # processes that are forked must not share them
            self.stdout.write(f"working on {', '.join(queues)}")
            client.work(
                *queues,
                name=worker if options["processes"] == 1 else None,
                concurrency=options["concurrency"],
                processes=options["processes"],
                stop_timeout=options["stop_timeout"],
                stop_when_empty=options["stop_when_empty"],
            )


def _queues(backend: RowMQBackend) -> list[str]:
    """The backend's queues or, if it takes any name, those of the tasks."""
    return sorted(backend.queues or {task.queue_name for task in known.discover(backend.modules).values()})
