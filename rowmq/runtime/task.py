"""Functions that can be pushed: called here, or run by a worker somewhere."""

import inspect
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeVar, Unpack, overload
from uuid import UUID

from rowmq.core.errors import InvalidMessage, InvalidSetting, QueueNotFound, TaskFailed
from rowmq.core.history import Record, Schedule
from rowmq.core.message import encode
from rowmq.core.outcome import State
from rowmq.runtime.aio import Aio
from rowmq.runtime.answers import Seconds
from rowmq.runtime.claimed import ClaimedMessage, result_of
from rowmq.runtime.options import PushOptions, as_span
from rowmq.runtime.registry import TASK, Job, Unreadable, is_async

if TYPE_CHECKING:
    from rowmq.runtime.client import Client

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
SHORTEST_LOOK, LONGEST_LOOK = 0.005, 0.25


class Task(Generic[P, R]):
    """A function that can also be pushed. Calling it just calls it.

    >>> import rowmq
    >>> mq = rowmq.connect("memory://")
    >>> @mq.task(results=True)
    ... def add(a: int, b: int) -> int:
    ...     return a + b
    >>> add(2, 3)
    5
    >>> pushed = add.push(2, b=3)
    >>> mq.work(stop_when_empty=True)
    >>> pushed.result()
    5
    """

    def __init__(
        self,
        client: "Client",
        function: Callable[P, R],
        *,
        queue: str,
        name: str,
        results: bool,
        options: Mapping[str, Any],
    ) -> None:
        update_wrapper(self, function)
        self.queue, self.name, self.results = queue, name, results
        self._client, self._function, self._options = client, function, options
        self._signature = inspect.signature(function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Just call the function."""
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<task {self.name!r} of queue {self.queue!r}>"

    @property
    def aio(self) -> Any:
        """The same methods for async code: ``await add.aio.push(2, 3)``."""
        return Aio(self)

    @overload
    def push(
        self: "Task[P, Coroutine[Any, Any, T]]", *args: P.args, **kwargs: P.kwargs
    ) -> "TaskResult[T]": ...

    @overload
    def push(self, *args: P.args, **kwargs: P.kwargs) -> "TaskResult[R]": ...

    def push(self, *args: P.args, **kwargs: P.kwargs) -> "TaskResult[Any]":
        """Push a call of it, and return where its result will be."""
        return TaskCall(self, self._options).push(*args, **kwargs)

    def delay(self, seconds: Seconds) -> "TaskCall[P, R]":
        """The same task, to be pushed with a delay: ``add.delay(60).push(2, 3)``."""
        return self.options(delay=seconds)

    def options(
        self, *, id: UUID | None = None, tx: object = None, **options: Unpack[PushOptions]
    ) -> "TaskCall[P, R]":
        """The same task with other push options, or ``tx``: ``add.options(priority=9).push(2, 3)``."""
        return TaskCall(self, {**self._options, **options, "id": id, "tx": tx})

    def schedule(
        self,
        name: str,
        *,
        cron: str | None = None,
        every: Seconds | None = None,
        timezone: str = "UTC",
        catch_up: Literal["one", "all", "none"] = "one",
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Schedule:
        """Have it pushed by the clock, with these arguments; see Client.schedule."""
        self._client.queue(self.queue)
        return self._client.schedule(
            name,
            queue=self.queue,
            payload=self.payload(tuple(args), kwargs or {}),
            cron=cron,
            every=every,
            timezone=timezone,
            catch_up=catch_up,
            metadata={TASK: self.name},
        )

    def payload(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """A call as a message says it. Raises InvalidMessage if these are not its arguments, or not JSON."""
        self._check(args, kwargs)
        said = {"args": list(args), "kwargs": dict(kwargs)}
        try:
            encode(said)
        except InvalidMessage as error:
            raise InvalidMessage(
                f"task {self.name!r} was given an argument that is not JSON: {error}"
            ) from None
        return said

    def send(self, payload: Any, options: Mapping[str, Any]) -> UUID:
        """Push a payload to the task's queue, which is made the first time it is missing."""
        metadata = {**(options.get("metadata") or {}), TASK: self.name}
        given = {**options, "metadata": metadata}
        try:
            return self._client.push(self.queue, payload, **given)
        except QueueNotFound:
            self._client.queue(self.queue)
            return self._client.push(self.queue, payload, **given)

    def result_for(self, id: UUID) -> "TaskResult[R]":
        """Where the result of an earlier push is, by its id."""
        return TaskResult(self._client, id, kept=self.results)

    def job(self, timeout: float | None, concurrency: int | None) -> Job:
        """What a worker runs for a message of this task."""
        return Job(
            name=self.name,
            call=self._run,
            is_async=is_async(self._function),
            concurrency=concurrency,
            timeout=timeout,
            results=self.results,
        )

    def _run(self, message: ClaimedMessage) -> Any:
        args, kwargs = _arguments(message.payload)
        try:
            self._check(args, kwargs)
        except InvalidMessage as error:
            raise Unreadable(str(error)) from None
        return self._function(*args, **kwargs)

    def _check(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        try:
            self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise InvalidMessage(f"task {self.name!r} does not take these arguments: {error}") from None


class TaskCall(Generic[P, R]):
    """A task with the options of one push.

    >>> from rowmq import testing
    >>> mq = testing.connect()
    >>> @mq.task
    ... def add(a, b):
    ...     return a + b
    >>> add.options(priority=9).push(2, 3).state.value, add.delay(60).push(2, 3).state.value
    ('ready', 'scheduled')
    """

    def __init__(self, task: Task[P, R], options: Mapping[str, Any]) -> None:
        self._task, self._options = task, options

    @property
    def aio(self) -> Any:
        """The same methods for async code."""
        return Aio(self)

    @overload
    def push(
        self: "TaskCall[P, Coroutine[Any, Any, T]]", *args: P.args, **kwargs: P.kwargs
    ) -> "TaskResult[T]": ...

    @overload
    def push(self, *args: P.args, **kwargs: P.kwargs) -> "TaskResult[R]": ...

    def push(self, *args: P.args, **kwargs: P.kwargs) -> "TaskResult[Any]":
        """Push a call, and return where its result will be."""
        id = self._task.send(self._task.payload(args, kwargs), self._options)
        return self._task.result_for(id)


class TaskResult(Generic[R]):
    """Where the result of a pushed task will be.

    >>> from rowmq import testing
    >>> mq = testing.connect()
    >>> @mq.task(results=True)
    ... def add(a, b):
    ...     return a + b
    >>> pushed = add.push(2, 3)
    >>> [ran] = testing.drain(mq)
    >>> pushed.state.value, pushed.result(timeout=5)
    ('done', 5)
    """

    def __init__(self, client: "Client", id: UUID, *, kept: bool) -> None:
        self.id = id
        self._client, self._kept = client, kept

    def __repr__(self) -> str:
        return f"<result of {self.id}>"

    @property
    def aio(self) -> Any:
        """The same methods for async code: ``await pushed.aio.result(timeout=5)``."""
        return Aio(self)

    @property
    def state(self) -> State | None:
        """What has become of the message, or None if the store has it no more."""
        record = self._client.get(self.id)
        return None if record is None else record.state

    def result(self, timeout: Seconds | None = None) -> R:
        """Wait for the task and return what it returned.

        Raises TaskFailed if it is dead or gone, and TimeoutError.
        """
        if not self._kept:
            raise InvalidSetting("this task keeps no results; declare it with @mq.task(results=True)")
        end = None if timeout is None else time.monotonic() + as_span(timeout, "timeout").total_seconds()
        pause = SHORTEST_LOOK
        while (record := self._finished()) is None:
            if end is not None and time.monotonic() + pause > end:
                raise TimeoutError(f"message {self.id} has no result after {timeout} seconds")
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_LOOK)
        value: R = result_of(record.result)
        return value

    def _finished(self) -> Record | None:
        record = self._client.get(self.id)
        if record is None:
            raise TaskFailed(f"message {self.id} is not in the store any more, and its result went with it")
        if record.state == State.DEAD or record.source is not None:  # a dead letter is as dead to the caller
            failures = self._client.failures(self.id)
            error = failures[-1].error if failures else "no attempt was made"
            raise TaskFailed(f"message {self.id} is dead ({record.reason}): {error}")
        return record if record.state == State.DONE else None


def _arguments(payload: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    match payload:
        case {"args": list(args), "kwargs": dict(kwargs)}:
            return tuple(args), kwargs
    raise Unreadable('a task\'s payload is {"args": [...], "kwargs": {...}}')
