"""What a user holds: one store, and everything that can be done with it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any, Literal, ParamSpec, Self, TypeVar, Unpack, overload
from uuid import UUID

from rowmq.core.errors import InvalidSetting
from rowmq.core.history import Amendment, ConsumerInfo, Durability, FailedAttempt, Record, Schedule, Swept
from rowmq.core.outcome import State
from rowmq.core.queue import Queue
from rowmq.core.store import Store
from rowmq.runtime.aio import Aio
from rowmq.runtime.answers import Seconds
from rowmq.runtime.claimed import ClaimedMessage
from rowmq.runtime.config import load
from rowmq.runtime.handle import QueueHandle, TopicHandle, as_state
from rowmq.runtime.log import redacted
from rowmq.runtime.middleware import Middleware
from rowmq.runtime.options import (
    Filter,
    PushOptions,
    QueueSettings,
    as_settings,
    as_span,
    as_where,
    new_message,
)
from rowmq.runtime.outgoing import Outgoing
from rowmq.runtime.registry import Job, Registry, is_async
from rowmq.runtime.rule import Rule
from rowmq.runtime.schedules import ScheduleBook
from rowmq.runtime.task import Task
from rowmq.runtime.terms import WorkerOptions
from rowmq.runtime.worker import Worker
from rowmq.stores import open_store

P = ParamSpec("P")
R = TypeVar("R")
Handler = TypeVar("Handler", bound=Callable[[ClaimedMessage], Any])
PAGE = 500


def connect(url: str | None = None, *, migrate: bool = True) -> "Client":
    """Open the store a URL names, making its tables if need be, and return a client of it.

    Without a URL it is the configuration's: ROWMQ_URL, rowmq.toml, or a file rowmq.db here.

    >>> import rowmq
    >>> with rowmq.connect("memory://") as mq:
    ...     print(mq.queue("emails").stats().ready)
    0
    """
    chosen = load({"url": url}).url
    return Client(open_store(chosen, migrate=migrate), url=chosen)


class Client:
    """One store and everything that can be done with it. Threads may share it; close it when done.

    >>> import rowmq
    >>> with rowmq.connect("memory://") as mq:
    ...     id = mq.queue("emails").push({"to": "ada@example.com"})
    ...     [queue.name for queue in mq.queues()], mq.get(id).payload
    (['emails'], {'to': 'ada@example.com'})
    """

    def __init__(self, store: Store, *, url: str = "") -> None:
        self.store = store
        self.url = url
        self.registry = Registry()
        self.outgoing = Outgoing(store)
        self.middleware: list[Middleware] = []
        self._schedules = ScheduleBook(store)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<rowmq {redacted(self.url)}>"

    @property
    def aio(self) -> Any:
        """The same methods for async code: ``await mq.aio.push("emails", ...)``."""
        return Aio(self)

    @property
    def durability(self) -> Durability:
        """What an acknowledged write survives, as this database is set up."""
        return self.store.durability

    def queue(self, name: str, **settings: Unpack[QueueSettings]) -> QueueHandle:
        """The queue of this name, created if need be, with the given settings changed.

        Spans are seconds or timedelta; ``rate=(100, 1)`` lets a hundred messages a second through.
        """
        self.store.queues.put(name, as_settings(settings))
        return QueueHandle(self, name)

    def queues(self) -> list[Queue]:
        """All queues, by name."""
        return self.store.queues.list()

    def push(
        self,
        queue: str,
        payload: Any,
        *,
        id: UUID | None = None,
        tx: object = None,
        **options: Unpack[PushOptions],
    ) -> UUID:
        """Push one message to a queue and return its id; see QueueHandle.push."""
        return QueueHandle(self, queue).push(payload, id=id, tx=tx, **options)

    def push_many(
        self, queue: str, payloads: Iterable[Any], *, tx: object = None, **options: Unpack[PushOptions]
    ) -> list[UUID]:
        """Push one message for each payload to a queue, all or none, and return their ids."""
        return QueueHandle(self, queue).push_many(payloads, tx=tx, **options)

    def topic(self, name: str) -> TopicHandle:
        """The topic of this name."""
        return TopicHandle(self, name)

    def topics(self) -> dict[str, list[str]]:
        """The queues bound to each topic."""
        found: dict[str, list[str]] = {}
        for topic, queue in self.store.topics.bindings():
            found.setdefault(topic, []).append(queue)
        return found

    def get(self, id: UUID | str) -> Record | None:
        """The message with this id in whatever state it is, or None."""
        return self.store.history.get(as_id(id))

    def failures(self, id: UUID | str) -> list[FailedAttempt]:
        """The failed attempts of a message, oldest first."""
        return self.store.history.failures(as_id(id))

    def find(
        self,
        queue: str | None = None,
        *,
        state: State | str | None = None,
        where: Filter = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
    ) -> Iterator[Record]:
        """Look up messages, finished ones too, in the order they were pushed; pages are fetched as needed."""
        after, left = 0, limit
        while left is None or left > 0:
            page = self.store.history.find(
                queue,
                state=as_state(state),
                where=as_where(where),
                since=since,
                until=until,
                after=after,
                limit=PAGE if left is None else min(PAGE, left),
            )
            yield from page.records
            if page.after is None:
                return
            after, left = page.after, None if left is None else left - len(page.records)

    def amend(self, ids: Sequence[UUID | str], amendment: Amendment | str, *, to: str | None = None) -> int:
        """Retry, kill, move or drop messages without holding them; how many changed."""
        if amendment not in list(Amendment):
            raise InvalidSetting(f"an amendment is one of {', '.join(Amendment)}, not {amendment!r}")
        return self.store.history.amend([as_id(id) for id in ids], Amendment(amendment), to=to)

    def consumers(self, queue: str | None = None) -> list[ConsumerInfo]:
        """The consumers alive now."""
        return self.store.consumers.list(queue)

    def schedule(
        self,
        name: str,
        *,
        queue: str,
        payload: Any = None,
        cron: str | None = None,
        every: Seconds | None = None,
        timezone: str = "UTC",
        catch_up: Literal["one", "all", "none"] = "one",
        **options: Unpack[PushOptions],
    ) -> Schedule:
        """Have a message pushed by the clock, as long as any worker runs; see docs/schedules.md.

        The same name again changes the schedule, and putting it unchanged leaves it alone.
        """
        rule = Rule.of(cron=cron, every=every, timezone=timezone, catch_up=catch_up)
        return self._schedules.put(name, queue=queue, message=new_message(payload, dict(options)), rule=rule)

    def schedules(self) -> list[Schedule]:
        """All schedules, by name."""
        return self._schedules.list()

    def pause_schedule(self, name: str) -> None:
        """Let a schedule fire no more until it is resumed."""
        self._schedules.pause(name)

    def resume_schedule(self, name: str) -> None:
        """Let a schedule fire again."""
        self._schedules.resume(name)

    def drop_schedule(self, name: str) -> bool:
        """Delete a schedule; False if there is none."""
        return self._schedules.drop(name)

    def use(self, middleware: Middleware) -> None:
        """Let a middleware see this client's pushes, and hang around what its workers run."""
        self.middleware.append(middleware)
        self.outgoing.use(middleware)

    def handler(
        self, queue: str, *, concurrency: int | None = None, timeout: Seconds | None = None
    ) -> Callable[[Handler], Handler]:
        """Decorate the function, plain or async, that handles a queue's messages.

        It gets a ClaimedMessage. It returns, and the message is done; it raises, and the message is
        retried after the queue's backoff; Kill, Retry and Snooze say something else. At most
        ``concurrency`` run at once in one worker, each for at most ``timeout`` seconds.
        """

        def decorate(function: Handler) -> Handler:
            name = getattr(function, "__qualname__", repr(function))
            job = Job(name, function, is_async(function), checked(concurrency), seconds(timeout))
            self.registry.add_handler(queue, job)
            return function

        return decorate

    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...

    @overload
    def task(
        self,
        *,
        queue: str = ...,
        name: str | None = ...,
        results: bool = ...,
        timeout: Seconds | None = ...,
        concurrency: int | None = ...,
        **options: Unpack[PushOptions],
    ) -> Callable[[Callable[P, R]], Task[P, R]]: ...

    def task(self, *functions: Callable[..., Any], **said: Any) -> Any:
        """Decorate a function so that it can also be pushed: ``welcome.push(user_id=7)``.

        A worker runs it because it was registered here, under its name (by default that of its module
        and itself). ``results=True`` keeps what it returns. Other options are those of every push.
        """
        declare: Callable[[Callable[..., Any]], Any] = partial(self._declare, **said)
        return declare(*functions) if functions else declare

    def _declare(
        self,
        function: Callable[..., Any],
        *,
        queue: str = "default",
        name: str | None = None,
        results: bool = False,
        timeout: Seconds | None = None,
        concurrency: int | None = None,
        **options: Any,
    ) -> Task[..., Any]:
        known = name or f"{function.__module__}.{function.__qualname__}"
        task = Task(self, function, queue=queue, name=known, results=results, options=options)
        self.registry.add_task(queue, task.job(seconds(timeout), checked(concurrency)))
        return task

    def worker(self, *queues: str, **options: Unpack[WorkerOptions]) -> Worker:
        """A worker for these queues, or for all that have a handler or a task, to start and stop."""
        return Worker(self, queues, options)

    def work(
        self, *queues: str, processes: int = 1, stop_timeout: Seconds = 30, **options: Unpack[WorkerOptions]
    ) -> None:
        """Run a worker here until a signal (SIGINT, SIGTERM) asks it to stop, or ``stop_when_empty``.

        At the first signal running handlers finish and what is buffered goes back; a second one stops at
        once. More than one process: each runs a worker of its own, and one that dies is replaced.
        """
        from rowmq.runtime.foreground import work  # noqa: PLC0415 - signals and forks only where they are used

        if processes > 1 and self.url.startswith("memory:"):
            raise InvalidSetting("a memory store is one process's own: work with processes=1")
        timeout = as_span(stop_timeout, "stop_timeout").total_seconds()
        work(lambda: self.worker(*queues, **options), processes=processes, stop_timeout=timeout)

    def sweep(self) -> Swept:
        """Do once what a worker's sweeper does: bury what is overdue, prune what is past retention."""
        return self.store.history.sweep()

    def close(self) -> None:
        """Give back every connection."""
        self.store.close()


def as_id(id: UUID | str) -> UUID:
    """A message id, maybe from its text."""
    try:
        return id if isinstance(id, UUID) else UUID(id)
    except ValueError:
        raise InvalidSetting(f"a message id is a UUID, not {id!r}") from None


def checked(concurrency: int | None) -> int | None:
    """A concurrency that can be."""
    if concurrency is not None and concurrency < 1:
        raise InvalidSetting(f"concurrency is at least 1, not {concurrency}")
    return concurrency


def seconds(timeout: Seconds | None) -> float | None:
    """A timeout in seconds."""
    if timeout is None:
        return None
    length = as_span(timeout, "timeout").total_seconds()
    if length <= 0:
        raise InvalidSetting(f"a timeout is longer than 0, not {timeout}")
    return length
