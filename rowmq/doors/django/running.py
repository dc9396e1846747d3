"""Running Django's tasks in a worker."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from inspect import iscoroutinefunction
from traceback import format_exception
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections
from django.utils import timezone

from rowmq.doors.django import known
from rowmq.doors.django.backend import RowMQBackend
from rowmq.doors.django.framework import Status, TaskContext, normalize_json, signals
from rowmq.doors.django.results import as_error, note_class, running
from rowmq.runtime.answers import Kill, Snooze
from rowmq.runtime.claimed import ClaimedMessage
from rowmq.runtime.client import Client, connect
from rowmq.runtime.registry import Job, Unreadable


def client_for(backend: RowMQBackend, queues: Iterable[str], worker: str) -> Client:
    """A client whose workers may run every task that Django knows, and nothing else, for these queues."""
    client = connect(backend.url)
    for queue in queues:
        client.queue(queue, **backend.settings)
        client.registry.add_handler(queue, Job("no task", _refuse, is_async=False))
    for task in known.discover(backend.modules).values():
        run = Run(backend, task, worker)
        is_async = iscoroutinefunction(task.func)
        call = run.call_async if is_async else run.call
        client.registry.add_task(task.queue_name, Job(task.module_path, call, is_async, results=True))
    return client


class Run:
    """How a worker runs one task."""

    def __init__(self, backend: RowMQBackend, task: Any, worker: str) -> None:
        self._backend, self._task, self._worker = backend, task, worker

    def call(self, message: ClaimedMessage) -> Any:
        """Run a plain function, with database connections as fresh as in a request."""
        close_old_connections()
        try:
            with self._around(message) as (result, args):
                return self._returned(result, self._task.func(*args, **result.kwargs))
        finally:
            close_old_connections()

    async def call_async(self, message: ClaimedMessage) -> Any:
        """Run a coroutine function; its database work is in asgiref's threads, and so is the cleaning."""
        await sync_to_async(close_old_connections)()
        try:
            with self._around(message) as (result, args):
                return self._returned(result, await self._task.func(*args, **result.kwargs))
        finally:
            await sync_to_async(close_old_connections)()

    @contextmanager
    def _around(self, message: ClaimedMessage) -> Iterator[tuple[Any, list[Any]]]:
        result = self._begun(message)
        try:
            yield (
                result,
                [TaskContext(task_result=result), *result.args] if self._task.takes_context else result.args,
            )
        except BaseException as error:
            note_class(error)
            if message.last_attempt or isinstance(error, Kill):
                result.errors.append(as_error("".join(format_exception(error))))
                self._finished(result, Status.FAILED)
            raise

    def _begun(self, message: ClaimedMessage) -> Any:
        match message.payload:
            case {"args": list(), "kwargs": dict()}:
                result = running(self._task, self._backend.alias, message, self._worker, timezone.now())
            case _:
                raise Unreadable('a task\'s payload is {"args": [...], "kwargs": {...}}')
        signals.task_started.send(sender=type(self._backend), task_result=result)
        return result

    def _returned(self, result: Any, value: Any) -> Any:
        if isinstance(value, Snooze):
            return value
        kept = normalize_json(value)
        object.__setattr__(result, "_return_value", kept)
        self._finished(result, Status.SUCCESSFUL)
        return kept

    def _finished(self, result: Any, status: Any) -> None:
        object.__setattr__(result, "finished_at", timezone.now())
        object.__setattr__(result, "status", status)
        signals.task_finished.send(type(self._backend), task_result=result)


def _refuse(message: ClaimedMessage) -> None:
    raise Unreadable(f"message {message.id} names no task")
