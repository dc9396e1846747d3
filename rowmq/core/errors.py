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
    └── StoreError
        ├── StoreUnavailable    down, refused, or too busy after all tries; nothing was written
        ├── OutcomeUnknown      the reply to COMMIT was lost: written or not, look before repeating
        ├── TransactionConflict the caller's own transaction must be run again by the caller
        ├── SchemaOutdated      the tables are missing or of another version
        └── Unsupported         this store cannot do it at all
"""


class RowMQError(Exception):
    """The root of every error RowMQ raises on purpose."""


class InvalidInput(RowMQError, ValueError):
    """A value that can never be accepted."""


class InvalidURL(InvalidInput):
    """A store URL that names no store, or is malformed."""


class InvalidName(InvalidInput):
    """A queue, topic, group, key or consumer name that is empty, too long or has control characters."""


class InvalidSetting(InvalidInput):
    """A queue setting, or an option of a call, that is out of range."""


class InvalidMessage(InvalidInput):
    """A payload, metadata or message option that cannot be stored."""


class Refused(RowMQError):
    """A valid request that the queue turns down."""


class QueueNotFound(Refused, LookupError):
    """No queue has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no queue {name!r}; create it first")
        self.name = name


class QueueInUse(Refused):
    """The queue is the dead-letter queue of another."""


class QueueFull(Refused):
    """The batch would make the queue longer than its max_length."""


class DuplicateMessage(Refused):
    """Another message already has this id."""


class ScheduleNotFound(Refused, LookupError):
    """No schedule has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no schedule {name!r}; put it first")
        self.name = name


class LeaseLost(RowMQError):
    """The lease ended and the message went on without this holder."""


class TaskFailed(RowMQError):
    """The task whose result was asked for is dead, or is not in the store any more."""


class WorkerState(RowMQError):
    """A worker can be started once and stopped once."""


class StopTimeout(RowMQError, TimeoutError):
    """Handlers were still running when a worker's time to stop was over; their messages come back."""


class StoreError(RowMQError):
    """The store could not do it."""


class StoreUnavailable(StoreError):
    """The store cannot be reached, refuses us, or stayed too busy. Nothing was written."""


class OutcomeUnknown(StoreError):
    """The connection broke during COMMIT, so nobody here knows whether it counted."""


class TransactionConflict(StoreError):
    """The caller's transaction lost against another one: roll it back and run it again."""


class SchemaOutdated(StoreError):
    """The store's tables are missing or are of another version: run ``rowmq migrate``."""


class Unsupported(StoreError):
    """This kind of store cannot do what was asked."""
