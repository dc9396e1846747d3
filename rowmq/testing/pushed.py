"""Assertions about what was pushed."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from rowmq.core.history import Record
from rowmq.runtime.client import Client
from rowmq.runtime.handle import QueueHandle
from rowmq.runtime.registry import TASK
from rowmq.runtime.task import Task

ANY = object()
MOST_SHOWN = 20
Target = Client | QueueHandle


class Pattern:
    """What a message should be like; what is not said may be anything."""

    def __init__(
        self,
        payload: Any,
        metadata: Mapping[str, str] | None,
        task: Task[..., Any] | str | None,
        args: Sequence[Any] | None,
        kwargs: Mapping[str, Any] | None,
    ) -> None:
        self._payload, self._metadata, self._task = payload, metadata or {}, task
        self._arguments = None if args is None and kwargs is None else (list(args or ()), dict(kwargs or {}))

    def __str__(self) -> str:
        parts = [] if self._payload is ANY else [f"payload {self._payload!r}"]
        parts += [f"metadata {dict(self._metadata)!r}"] if self._metadata else []
        parts += [f"task {_name(self._task)!r}"] if self._task is not None else []
        parts += [f"arguments {_call(*self._arguments)}"] if self._arguments is not None else []
        return f" with {' and '.join(parts)}" if parts else ""

    def fits(self, record: Record) -> bool:
        """Whether a message is like this."""
        if self._task is not None and record.metadata.get(TASK) != _name(self._task):
            return False
        if any(record.metadata.get(key) != value for key, value in self._metadata.items()):
            return False
        if self._arguments is not None and not self._called(record.payload):
            return False
        return self._payload is ANY or bool(record.payload == self._payload)

    def _called(self, payload: Any) -> bool:
        match payload:
            case {"args": list(args), "kwargs": dict(kwargs)}:
                return self._bound(args, kwargs) == self._bound(*(self._arguments or ([], {})))
        return False

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
        """Arguments by their names, so that it does not matter how they were passed."""
        if not isinstance(self._task, Task):
            return list(args), dict(kwargs)
        bound = inspect.signature(self._task).bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.arguments


def assert_pushed(
    target: Target,
    payload: Any = ANY,
    *,
    count: int | None = None,
    metadata: Mapping[str, str] | None = None,
    task: Task[..., Any] | str | None = None,
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
) -> list[Record]:
    """Fail unless such a message, or exactly ``count`` of them, was pushed; return those that were.

    Looked for are messages in any state, handled ones too, of a queue or of all of a client's. A message
    fits if its payload is equal, its metadata has at least what is said, and it is a call of the task
    with these arguments, however they were passed.

    >>> from rowmq import testing
    >>> mq = testing.connect()
    >>> id = mq.queue("emails").push({"to": "ada"}, metadata={"v": "1"})
    >>> [record] = testing.assert_pushed(mq, {"to": "ada"}, count=1)
    >>> testing.assert_pushed(mq.queue("emails"), {"to": "bob"})
    Traceback (most recent call last):
    AssertionError: no message with payload {'to': 'bob'} was pushed to queue 'emails', but 1 other:
      emails: {'to': 'ada'} metadata={'v': '1'} (ready)
    """
    __tracebackhide__ = True
    pattern = Pattern(payload, metadata, task, args, kwargs)
    fitting, others = _sorted(target, pattern)
    if count is None and not fitting:
        raise AssertionError(
            f"no message{pattern} was pushed to {_where(target)}, {_listed('other', others)}"
        )
    if count is not None and len(fitting) != count:
        found = f"{len(fitting)} messages{pattern} were pushed to {_where(target)}, not {count}"
        raise AssertionError(f"{found}; {_listed('message', [*fitting, *others])}")
    return fitting


def assert_nothing_pushed(
    target: Target,
    payload: Any = ANY,
    *,
    metadata: Mapping[str, str] | None = None,
    task: Task[..., Any] | str | None = None,
) -> None:
    """Fail if any message, or any such message, was pushed to a queue, or to any of a client's.

    >>> from rowmq import testing
    >>> testing.assert_nothing_pushed(testing.connect())
    """
    __tracebackhide__ = True
    pattern = Pattern(payload, metadata, task, None, None)
    fitting, _ = _sorted(target, pattern)
    if fitting:
        raise AssertionError(
            f"nothing{pattern} should have been pushed to {_where(target)}, {_listed('message', fitting)}"
        )


def _sorted(target: Target, pattern: Pattern) -> tuple[list[Record], list[Record]]:
    records = list(target.find())
    fitting = [each for each in records if pattern.fits(each)]
    chosen: set[UUID] = {each.id for each in fitting}
    return fitting, [each for each in records if each.id not in chosen]


def _where(target: Target) -> str:
    return f"queue {target.name!r}" if isinstance(target, QueueHandle) else "any queue"


def _name(task: Task[..., Any] | str | None) -> str | None:
    return task.name if isinstance(task, Task) else task


def _call(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    return f"({', '.join([*map(repr, args), *(f'{key}={value!r}' for key, value in kwargs.items())])})"


def _listed(noun: str, records: Sequence[Record]) -> str:
    if not records:
        return f"and no {noun} either" if noun == "other" else "there is none at all"
    lines = [
        f"but {len(records)} {noun}{'s' if len(records) > 1 else ''}:",
        *map(_line, records[:MOST_SHOWN]),
    ]
    left = len(records) - MOST_SHOWN
    return "\n".join(lines + ([f"  and {left} more"] if left > 0 else []))


def _line(record: Record) -> str:
    metadata = f" metadata={dict(record.metadata)!r}" if record.metadata else ""
    return f"  {record.queue}: {record.payload!r}{metadata} ({record.state})"
