"""Everything RowMQ raises on purpose.

::

    RowMQError
    ├── InvalidInput            the caller's value is wrong; nothing was written
    │   ├── InvalidURL
    │   ├── InvalidName
    │   ├── InvalidSetting
    │   └── InvalidMessage
    ├── Refused                 the value is fine, the queue says no; nothing was written
    │   ├── QueueNotFound
    │   ├── QueueInUse
    │   ├── QueueFull
    │   ├── DuplicateMessage
    │   └── ScheduleNotFound
    ├── LeaseLost               the receipt is not the message's any more
    ├── TaskFailed              the task whose result was asked for is dead or gone
    ├── WorkerState             a worker started twice, or stopped without having been started
    ├── StopTimeout             a worker's handlers did not finish in time
    ├── MissingDependency       a program or package that this needs is missing or too old
    └── StoreError
        ├── StoreUnavailable    down, refused, or too busy after all tries; nothing was written
        │   ├── Overloaded      a server has more callers waiting than it takes; nothing was written
        │   └── StoreFull       no room left, in memory or on disk; nothing was written
        ├── OutcomeUnknown      the reply to COMMIT was lost: written or not, look before repeating
        ├── TransactionConflict the caller's own transaction must be run again by the caller
        ├── SchemaOutdated      the tables are missing or of another version
        └── Unsupported         this store cannot do it at all
"""


class RowMQError(Exception):
    """The root of every error RowMQ raises on purpose.

    Catch it to catch them all; what is not one is a mistake of ours.
    """


class InvalidInput(RowMQError, ValueError):
    """A value that can never be accepted.

    Nothing was written: correct the call. It is a ValueError too.
    """


class InvalidURL(InvalidInput):
    """A store URL that names no store, or is malformed.

    Write one like ``sqlite:///jobs.db`` or ``postgresql://user@host/db``; the message says what is wrong.
    """


class InvalidName(InvalidInput):
    """A queue, topic, group, key or consumer name that is empty, too long or has control characters.

    Choose another name; the message says which rule it breaks.
    """


class InvalidSetting(InvalidInput):
    """A queue setting, or an option of a call, that is out of range.

    Nothing was changed: give a value within the range that the message names.
    """


class InvalidMessage(InvalidInput):
    """A payload, metadata or message option that cannot be stored.

    Push bytes or a JSON value, with metadata that maps strings to strings.
    """


class Refused(RowMQError):
    """A valid request that the queue turns down.

    Nothing was written; whether asking again helps depends on which one it is.
    """


class QueueNotFound(Refused, LookupError):
    """No queue has this name.

    Create it first, with ``mq.queue(name)``; or the name is misspelt.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no queue {name!r}; create it first")
        self.name = name


class QueueInUse(Refused):
    """The queue is the dead-letter queue of another.

    Give that other queue a different ``dead_letter``, or none, and delete this one afterwards.
    """


class QueueFull(Refused):
    """The batch would make the queue longer than its max_length.

    Push again later, push less at once, or raise ``max_length``.
    """


class DuplicateMessage(Refused):
    """Another message already has this id.

    Leave out ``id`` and let one be made; only the very same message may be pushed again under its id.
    """


class ScheduleNotFound(Refused, LookupError):
    """No schedule has this name.

    Put it first, with ``mq.schedule(name, ...)``; or the name is misspelt.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no schedule {name!r}; put it first")
        self.name = name


class LeaseLost(RowMQError):
    """The lease ended and the message went on without this holder.

    Drop what was done for it, or let it be repeated: somebody else has the message. A longer lease, or
    ``extend`` in between, prevents it.
    """


class TaskFailed(RowMQError):
    """The task whose result was asked for is dead, or is not in the store any more.

    The message says why; ``mq.failures(id)`` has every attempt's error and ``mq.amend`` gives it another.
    """


class WorkerState(RowMQError):
    """A worker can be started once and stopped once.

    Make a new one with ``mq.worker()``.
    """


class StopTimeout(RowMQError, TimeoutError):
    """Handlers were still running when a worker's time to stop was over; their messages come back.

    Stop with a longer timeout, or let handlers look at ``message.lost``; they must bear being repeated.
    """


class MissingDependency(RowMQError):
    """A program or package that this needs is not there, or too old.

    The message says which, and how to get it.
    """


class StoreError(RowMQError):
    """The store could not do it.

    The kinds of it say whether anything was written.
    """


class StoreUnavailable(StoreError):
    """The store cannot be reached, refuses us, or stayed too busy. Nothing was written.

    Try again later; producers and workers do so by themselves.
    """


class Overloaded(StoreUnavailable):
    """A server has so many callers waiting that it turned this one away. Nothing was written.

    Ask again in a moment.
    """


class StoreFull(StoreUnavailable):
    """The store has no room left, in memory or on disk. Nothing was written.

    Finish or purge messages, or give it more room; what is stored can still be worked off.
    """


class OutcomeUnknown(StoreError):
    """The connection broke during COMMIT, so nobody here knows whether it counted.

    Repeat a push under the same ``id``: it is stored once. Look before repeating anything else.
    """


class TransactionConflict(StoreError):
    """The caller's transaction lost against another one: roll it back and run it again.

    It is yours, so only you can; without ``tx`` this is done inside.
    """


class SchemaOutdated(StoreError):
    """The store's tables are missing or are of another version: run ``rowmq migrate``.

    ``rowmq.connect(url)`` does it too, unless it is told ``migrate=False``.
    """


class Unsupported(StoreError):
    """This kind of store cannot do what was asked.

    Use another store, or do without; the message says what is missing.
    """
