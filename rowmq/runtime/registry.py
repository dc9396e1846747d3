"""Which functions may run: those that were registered here, and no other, whatever a message says."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rowmq.core.errors import InvalidSetting
from rowmq.core.names import check_name
from rowmq.runtime.claimed import ClaimedMessage

TASK = "rowmq.task"
"""The metadata key that names a message's task."""


class Unreadable(Exception):
    """A message that no function here can be given: it is buried as invalid."""


@dataclass(frozen=True, slots=True)
class Job:
    """A function that handles messages, and how it wants to be run."""

    name: str
    call: Callable[[ClaimedMessage], Any]
    is_async: bool
    concurrency: int | None = None
    timeout: float | None = None
    results: bool = False


class Registry:
    """The handlers by queue and the tasks by name, of one client."""

    def __init__(self) -> None:
        self._handlers: dict[str, Job] = {}
        self._tasks: dict[str, Job] = {}
        self._queues: dict[str, str] = {}

    def add_handler(self, queue: str, job: Job) -> None:
        """Register the one handler of a queue."""
        check_name(queue)
        if queue in self._handlers:
            raise InvalidSetting(f"queue {queue!r} has a handler already: {self._handlers[queue].name}")
        self._handlers[queue] = job

    def add_task(self, queue: str, job: Job) -> None:
        """Register a task under its name."""
        check_name(queue)
        check_name(job.name, "task name")
        if job.name in self._tasks:
            raise InvalidSetting(f"there is a task {job.name!r} already; give one of them another name")
        self._tasks[job.name] = job
        self._queues[job.name] = queue

    @property
    def queues(self) -> list[str]:
        """The queues that something here handles."""
        return sorted({*self._handlers, *self._queues.values()})

    def jobs(self, queue: str) -> dict[str | None, Job]:
        """What may run for a queue's messages, by the name of the task; its handler has none."""
        found: dict[str | None, Job] = {
            name: job for name, job in self._tasks.items() if self._queues[name] == queue
        }
        return {None: self._handlers[queue], **found} if queue in self._handlers else found

    def job(self, queue: str, task: str | None) -> Job:
        """The function for a message that names a task, or none. Raises Unreadable if there is none here."""
        if task is not None:
            return self._task(task)
        handler = self._handlers.get(queue)
        if handler is None:
            raise Unreadable(f"the message names no task, and queue {queue!r} has no handler here")
        return handler

    def _task(self, name: str) -> Job:
        job = self._tasks.get(name)
        if job is None:
            known = ", ".join(sorted(self._tasks)) or "none"
            raise Unreadable(f"no task is called {name!r}; this worker has {known}")
        return job


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives something to await, also when it is an object with an async __call__."""
    call = getattr(function, "__call__", function)  # noqa: B004 - the method itself is looked at
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
