"""RowMQ: a message queue in the database you already have."""

from rowmq.core.backoff import Backoff
from rowmq.core.errors import (
    DuplicateMessage,
    InvalidInput,
    InvalidMessage,
    InvalidName,
    InvalidSetting,
    InvalidURL,
    LeaseLost,
    MissingDependency,
    OutcomeUnknown,
    Overloaded,
    QueueFull,
    QueueInUse,
    QueueNotFound,
    Refused,
    RowMQError,
    ScheduleNotFound,
    SchemaOutdated,
    StopTimeout,
    StoreError,
    StoreFull,
    StoreUnavailable,
    TaskFailed,
    TransactionConflict,
    Unsupported,
    WorkerState,
)
from rowmq.core.history import (
    Amendment,
    ConsumerInfo,
    Durability,
    FailedAttempt,
    LedgerEntry,
    Record,
    Schedule,
    Stats,
    Swept,
)
from rowmq.core.outcome import Reason, State
from rowmq.core.queue import Archive, Guarantee, Queue, Rate
from rowmq.core.where import Condition, Where, where
from rowmq.runtime.answers import Kill, Retry, Snooze
from rowmq.runtime.claimed import ClaimedMessage
from rowmq.runtime.client import Client, connect
from rowmq.runtime.consumer import Consumer
from rowmq.runtime.handle import QueueHandle, TopicHandle
from rowmq.runtime.middleware import Inject, Middleware
from rowmq.runtime.producer import Producer
from rowmq.runtime.task import Task, TaskCall, TaskResult
from rowmq.runtime.worker import Worker
from rowmq.stores.fresh import new_id
from rowmq.stores.views import schema

__all__ = [
    "Amendment",
    "Archive",
    "Backoff",
    "ClaimedMessage",
    "Client",
    "Condition",
    "Consumer",
    "ConsumerInfo",
    "DuplicateMessage",
    "Durability",
    "FailedAttempt",
    "Guarantee",
    "Inject",
    "InvalidInput",
    "InvalidMessage",
    "InvalidName",
    "InvalidSetting",
    "InvalidURL",
    "Kill",
    "LeaseLost",
    "LedgerEntry",
    "Middleware",
    "MissingDependency",
    "OutcomeUnknown",
    "Overloaded",
    "Producer",
    "Queue",
    "QueueFull",
    "QueueHandle",
    "QueueInUse",
    "QueueNotFound",
    "Rate",
    "Reason",
    "Record",
    "Refused",
    "Retry",
    "RowMQError",
    "Schedule",
    "ScheduleNotFound",
    "SchemaOutdated",
    "Snooze",
    "State",
    "Stats",
    "StopTimeout",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "Swept",
    "Task",
    "TaskCall",
    "TaskFailed",
    "TaskResult",
    "TopicHandle",
    "TransactionConflict",
    "Unsupported",
    "Where",
    "Worker",
    "WorkerState",
    "connect",
    "new_id",
    "schema",
    "where",
]
