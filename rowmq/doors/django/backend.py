"""Django's tasks as RowMQ's messages."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured
from django.db import connections, transaction
from django.utils import timezone

from rowmq.core.errors import QueueNotFound
from rowmq.core.history import Record
from rowmq.doors.django import known
from rowmq.doors.django.framework import (
    BaseTaskBackend,
    Status,
    TaskResult,
    TaskResultDoesNotExist,
    signals,
)
from rowmq.doors.django.places import client_at, database_at, url_of
from rowmq.doors.django.priority import as_ours
from rowmq.doors.django.results import result_from
from rowmq.runtime.client import Client, connect
from rowmq.runtime.registry import TASK
from rowmq.stores.fresh import new_id

OPTIONS = {"url", "database", "settings", "modules", "enqueue_on_commit"}
PRIORITY = "django.priority"


class RowMQBackend(BaseTaskBackend):
    """A backend of Django's tasks. Its OPTIONS, all of which may be left out:

    ``url`` is the store's, by default that of the Django database ``database`` ("default"). ``settings``
    are those of its queues, such as ``{"max_attempts": 3}``. ``modules`` names modules with tasks besides
    every app's ``tasks``. What is enqueued in a transaction is there if and when that commits, unless
    ``enqueue_on_commit`` is False.
    """  # noqa: D400, D415 - the options follow

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        unknown = set(self.options) - OPTIONS
        if unknown:
            raise ImproperlyConfigured(
                f"there is no option {', '.join(sorted(unknown))}; RowMQ has {', '.join(sorted(OPTIONS))}"
            )
        self.settings: Mapping[str, Any] = self.options.get("settings", {})
        self.modules: Sequence[str] = self.options.get("modules", ())
        self._on_commit = bool(self.options.get("enqueue_on_commit", True))

    @property
    def url(self) -> str:
        """The store's URL."""
        given = self.options.get("url")
        database = self.options.get("database", "default")
        return str(given) if given else url_of(database).render_as_string(hide_password=False)

    @property
    def database(self) -> str | None:
        """Django's database that the messages are in, or None if they are elsewhere."""
        return database_at(self.url)

    @property
    def client(self) -> Client:
        """The client that this process pushes with."""
        return client_at(self.url)

    def prepare(self) -> None:
        """Make the tables, or bring them up to date, and make the queues."""
        with connect(self.url) as client:
            for queue in self.queues:
                client.queue(queue, **self.settings)

    def validate_task(self, task: Any) -> None:
        """Refuse what this backend cannot run; a task that it can is known from here on."""
        super().validate_task(task)
        known.remember(task)

    def enqueue(self, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Push a call of a task, in Django's own transaction if there is one."""
        self.validate_task(task)
        id = new_id()
        result = TaskResult(
            task=task,
            id=str(id),
            status=Status.READY,
            enqueued_at=timezone.now(),
            started_at=None,
            last_attempted_at=None,
            finished_at=None,
            args=list(args),
            kwargs=dict(kwargs),
            backend=self.alias,
            errors=[],
            worker_ids=[],
        )
        self._send(task, id, {"args": result.args, "kwargs": result.kwargs})
        signals.task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> Any:
        """What has become of a call."""
        try:
            record = self.client.get(UUID(result_id))
        except ValueError:
            raise TaskResultDoesNotExist(result_id) from None
        task = None if record is None else self._task(record)
        if record is None or task is None:
            raise TaskResultDoesNotExist(result_id)
        return result_from(task, self.alias, record, self.client.failures(record.id))

    def _task(self, record: Record) -> Any | None:
        """The task as it was enqueued; one that has never been imported here is not known."""
        path = record.metadata.get(TASK, "")
        task = known.task_at(path) or known.discover(self.modules).get(path)
        return task and task.using(
            priority=int(record.metadata.get(PRIORITY, "0")),
            queue_name=record.queue if not self.queues or record.queue in self.queues else None,
            run_after=record.scheduled_for,
        )

    def _send(self, task: Any, id: UUID, payload: Mapping[str, Any]) -> None:
        push = partial(
            self._push,
            task.queue_name,
            payload,
            id=id,
            at=_aware(task.run_after),
            priority=as_ours(task.priority),
            metadata={TASK: task.module_path, PRIORITY: str(task.priority)},
        )
        database = self.database
        connection = connections[database or "default"]
        if not self._on_commit or not connection.in_atomic_block:
            push()
        elif database is None:
            transaction.on_commit(push)
        else:
            connection.ensure_connection()
            push(tx=connection.connection)

    def _push(self, queue: str, payload: Any, **options: Any) -> None:
        try:
            self.client.push(queue, payload, **options)
        except QueueNotFound:
            self.client.queue(queue, **self.settings)
            self.client.push(queue, payload, **options)


def _aware(moment: datetime | None) -> datetime | None:
    """A moment with a time zone, which it has not got where USE_TZ is off."""
    if moment is None or moment.tzinfo is not None:
        return moment
    return moment.replace(tzinfo=timezone.get_default_timezone())
