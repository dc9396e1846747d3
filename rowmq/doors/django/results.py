"""A message as Django's result of a task."""

import re
from typing import Any

from rowmq.core.history import FailedAttempt, Record
from rowmq.core.outcome import State
from rowmq.doors.django.framework import Status, TaskError, TaskResult
from rowmq.runtime.claimed import ClaimedMessage, result_of

STATUS = {
    State.READY: Status.READY,
    State.SCHEDULED: Status.READY,
    State.LEASED: Status.RUNNING,
    State.DONE: Status.SUCCESSFUL,
    State.DEAD: Status.FAILED,
}
UNKNOWN = "rowmq.core.errors.TaskFailed"
"""The class of a failure that no exception caused: a worker vanished, or an operator killed the message."""
_NOTE = re.compile(r"\[exception class: ([\w.]+)\]")


def note_class(error: BaseException) -> None:
    """Have the text that is kept of an exception say its class, whatever its message says."""
    error.add_note(f"[exception class: {type(error).__module__}.{type(error).__qualname__}]")


def result_from(task: Any, backend: str, record: Record, failures: list[FailedAttempt]) -> Any:
    """What has become of a message."""
    arguments = record.payload or {"args": [], "kwargs": {}}
    started = [each.started_at for each in failures] + [record.started_at]
    moments = [moment for moment in started if moment is not None]
    result = TaskResult(
        task=task,
        id=str(record.id),
        status=STATUS[record.state],
        enqueued_at=record.created_at,
        started_at=moments[0] if moments else None,
        last_attempted_at=max(moments, default=None),
        finished_at=record.finished_at,
        args=arguments["args"],
        kwargs=arguments["kwargs"],
        backend=backend,
        errors=[as_error(each.error) for each in failures],
        worker_ids=_workers(record, failures),
    )
    object.__setattr__(result, "_return_value", result_of(record.result))
    return result


def running(task: Any, backend: str, message: ClaimedMessage, worker: str, now: Any) -> Any:
    """The result of a task that is about to run."""
    return TaskResult(
        task=task,
        id=str(message.id),
        status=Status.RUNNING,
        enqueued_at=message.created_at,
        started_at=now,
        last_attempted_at=now,
        finished_at=None,
        args=message.payload["args"],
        kwargs=message.payload["kwargs"],
        backend=backend,
        errors=[],
        worker_ids=[worker] * message.attempt,
    )


def as_error(text: str) -> Any:
    """A failure's text as Django keeps errors."""
    classes = _NOTE.findall(text)
    return TaskError(exception_class_path=classes[-1] if classes else UNKNOWN, traceback=text)


def _workers(record: Record, failures: list[FailedAttempt]) -> list[str]:
    """Who has tried it, once for each attempt."""
    tried = [each.consumer for each in failures]
    if record.state in {State.LEASED, State.DONE}:
        tried.append(record.consumer)
    return [name or "unknown" for name in tried]
