import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Settled(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOST: _ClassVar[Settled]
    SETTLED: _ClassVar[Settled]
    REPEATED: _ClassVar[Settled]
LOST: Settled
SETTLED: Settled
REPEATED: Settled

class NewMessage(_message.Message):
    __slots__ = ("id", "payload", "json", "metadata", "delay", "at", "priority", "deadline", "key", "window", "group")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    DELAY_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    id: bytes
    payload: bytes
    json: bool
    metadata: _containers.ScalarMap[str, str]
    delay: _duration_pb2.Duration
    at: _timestamp_pb2.Timestamp
    priority: int
    deadline: _timestamp_pb2.Timestamp
    key: str
    window: _duration_pb2.Duration
    group: str
    def __init__(self, id: _Optional[bytes] = ..., payload: _Optional[bytes] = ..., json: _Optional[bool] = ..., metadata: _Optional[_Mapping[str, str]] = ..., delay: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., priority: _Optional[int] = ..., deadline: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., key: _Optional[str] = ..., window: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., group: _Optional[str] = ...) -> None: ...

class Delivered(_message.Message):
    __slots__ = ("receipt", "number", "id", "queue", "payload", "json", "metadata", "attempt", "max_attempts", "receives", "priority", "group", "created_at", "deadline", "lease_until", "source")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    RECEIVES_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    LEASE_UNTIL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    receipt: str
    number: int
    id: bytes
    queue: str
    payload: bytes
    json: bool
    metadata: _containers.ScalarMap[str, str]
    attempt: int
    max_attempts: int
    receives: int
    priority: int
    group: str
    created_at: _timestamp_pb2.Timestamp
    deadline: _timestamp_pb2.Timestamp
    lease_until: _timestamp_pb2.Timestamp
    source: str
    def __init__(self, receipt: _Optional[str] = ..., number: _Optional[int] = ..., id: _Optional[bytes] = ..., queue: _Optional[str] = ..., payload: _Optional[bytes] = ..., json: _Optional[bool] = ..., metadata: _Optional[_Mapping[str, str]] = ..., attempt: _Optional[int] = ..., max_attempts: _Optional[int] = ..., receives: _Optional[int] = ..., priority: _Optional[int] = ..., group: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., deadline: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., lease_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., source: _Optional[str] = ...) -> None: ...

class Condition(_message.Message):
    __slots__ = ("key", "operator", "values")
    KEY_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    key: str
    operator: str
    values: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, key: _Optional[str] = ..., operator: _Optional[str] = ..., values: _Optional[_Iterable[str]] = ...) -> None: ...

class PushRequest(_message.Message):
    __slots__ = ("queue", "messages")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    queue: str
    messages: _containers.RepeatedCompositeFieldContainer[NewMessage]
    def __init__(self, queue: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[NewMessage, _Mapping]]] = ...) -> None: ...

class PushResponse(_message.Message):
    __slots__ = ("ids", "seqs", "seen")
    IDS_FIELD_NUMBER: _ClassVar[int]
    SEQS_FIELD_NUMBER: _ClassVar[int]
    SEEN_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[bytes]
    seqs: _containers.RepeatedScalarFieldContainer[int]
    seen: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, ids: _Optional[_Iterable[bytes]] = ..., seqs: _Optional[_Iterable[int]] = ..., seen: _Optional[_Iterable[int]] = ...) -> None: ...

class ClaimRequest(_message.Message):
    __slots__ = ("queue", "limit", "lease", "wait", "consumer", "where", "max_age", "per_group", "unshared")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    MAX_AGE_FIELD_NUMBER: _ClassVar[int]
    PER_GROUP_FIELD_NUMBER: _ClassVar[int]
    UNSHARED_FIELD_NUMBER: _ClassVar[int]
    queue: str
    limit: int
    lease: _duration_pb2.Duration
    wait: _duration_pb2.Duration
    consumer: str
    where: _containers.RepeatedCompositeFieldContainer[Condition]
    max_age: _duration_pb2.Duration
    per_group: int
    unshared: bool
    def __init__(self, queue: _Optional[str] = ..., limit: _Optional[int] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., consumer: _Optional[str] = ..., where: _Optional[_Iterable[_Union[Condition, _Mapping]]] = ..., max_age: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., per_group: _Optional[int] = ..., unshared: _Optional[bool] = ...) -> None: ...

class ClaimResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[Delivered]
    def __init__(self, messages: _Optional[_Iterable[_Union[Delivered, _Mapping]]] = ...) -> None: ...

class ExtendRequest(_message.Message):
    __slots__ = ("receipts", "lease")
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    receipts: _containers.RepeatedScalarFieldContainer[str]
    lease: _duration_pb2.Duration
    def __init__(self, receipts: _Optional[_Iterable[str]] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Extended(_message.Message):
    __slots__ = ("until",)
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    until: _timestamp_pb2.Timestamp
    def __init__(self, until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ExtendResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[Extended]
    def __init__(self, results: _Optional[_Iterable[_Union[Extended, _Mapping]]] = ...) -> None: ...

class Ack(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: bytes
    def __init__(self, result: _Optional[bytes] = ...) -> None: ...

class Retry(_message.Message):
    __slots__ = ("delay", "error")
    DELAY_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    delay: _duration_pb2.Duration
    error: str
    def __init__(self, delay: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., error: _Optional[str] = ...) -> None: ...

class Release(_message.Message):
    __slots__ = ("delay",)
    DELAY_FIELD_NUMBER: _ClassVar[int]
    delay: _duration_pb2.Duration
    def __init__(self, delay: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Bury(_message.Message):
    __slots__ = ("reason", "error")
    REASON_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    reason: str
    error: str
    def __init__(self, reason: _Optional[str] = ..., error: _Optional[str] = ...) -> None: ...

class Settlement(_message.Message):
    __slots__ = ("receipt", "ack", "retry", "release", "bury")
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    BURY_FIELD_NUMBER: _ClassVar[int]
    receipt: str
    ack: Ack
    retry: Retry
    release: Release
    bury: Bury
    def __init__(self, receipt: _Optional[str] = ..., ack: _Optional[_Union[Ack, _Mapping]] = ..., retry: _Optional[_Union[Retry, _Mapping]] = ..., release: _Optional[_Union[Release, _Mapping]] = ..., bury: _Optional[_Union[Bury, _Mapping]] = ...) -> None: ...

class SettleRequest(_message.Message):
    __slots__ = ("settlements",)
    SETTLEMENTS_FIELD_NUMBER: _ClassVar[int]
    settlements: _containers.RepeatedCompositeFieldContainer[Settlement]
    def __init__(self, settlements: _Optional[_Iterable[_Union[Settlement, _Mapping]]] = ...) -> None: ...

class SettleResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedScalarFieldContainer[Settled]
    def __init__(self, results: _Optional[_Iterable[_Union[Settled, str]]] = ...) -> None: ...

class PublishRequest(_message.Message):
    __slots__ = ("topic", "messages")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    topic: str
    messages: _containers.RepeatedCompositeFieldContainer[NewMessage]
    def __init__(self, topic: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[NewMessage, _Mapping]]] = ...) -> None: ...

class PublishResponse(_message.Message):
    __slots__ = ("queues",)
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    queues: int
    def __init__(self, queues: _Optional[int] = ...) -> None: ...

class PublishStreamResponse(_message.Message):
    __slots__ = ("batches", "messages")
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    batches: int
    messages: int
    def __init__(self, batches: _Optional[int] = ..., messages: _Optional[int] = ...) -> None: ...

class Start(_message.Message):
    __slots__ = ("topic", "queue", "credit", "lease", "where", "consumer", "resume")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    RESUME_FIELD_NUMBER: _ClassVar[int]
    topic: str
    queue: str
    credit: int
    lease: _duration_pb2.Duration
    where: _containers.RepeatedCompositeFieldContainer[Condition]
    consumer: str
    resume: str
    def __init__(self, topic: _Optional[str] = ..., queue: _Optional[str] = ..., credit: _Optional[int] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., where: _Optional[_Iterable[_Union[Condition, _Mapping]]] = ..., consumer: _Optional[str] = ..., resume: _Optional[str] = ...) -> None: ...

class SubscribeRequest(_message.Message):
    __slots__ = ("start", "upto", "settlements", "end")
    START_FIELD_NUMBER: _ClassVar[int]
    UPTO_FIELD_NUMBER: _ClassVar[int]
    SETTLEMENTS_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    start: Start
    upto: int
    settlements: _containers.RepeatedCompositeFieldContainer[Settlement]
    end: bool
    def __init__(self, start: _Optional[_Union[Start, _Mapping]] = ..., upto: _Optional[int] = ..., settlements: _Optional[_Iterable[_Union[Settlement, _Mapping]]] = ..., end: _Optional[bool] = ...) -> None: ...

class Started(_message.Message):
    __slots__ = ("queue", "resume")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    RESUME_FIELD_NUMBER: _ClassVar[int]
    queue: str
    resume: str
    def __init__(self, queue: _Optional[str] = ..., resume: _Optional[str] = ...) -> None: ...

class SubscribeResponse(_message.Message):
    __slots__ = ("started", "messages", "upto", "results", "lost")
    STARTED_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    UPTO_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    started: Started
    messages: _containers.RepeatedCompositeFieldContainer[Delivered]
    upto: int
    results: _containers.RepeatedScalarFieldContainer[Settled]
    lost: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, started: _Optional[_Union[Started, _Mapping]] = ..., messages: _Optional[_Iterable[_Union[Delivered, _Mapping]]] = ..., upto: _Optional[int] = ..., results: _Optional[_Iterable[_Union[Settled, str]]] = ..., lost: _Optional[_Iterable[int]] = ...) -> None: ...

class BindRequest(_message.Message):
    __slots__ = ("topic", "queue")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    topic: str
    queue: str
    def __init__(self, topic: _Optional[str] = ..., queue: _Optional[str] = ...) -> None: ...

class BindResponse(_message.Message):
    __slots__ = ("changed",)
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    def __init__(self, changed: _Optional[bool] = ...) -> None: ...

class ListBindingsRequest(_message.Message):
    __slots__ = ("topic",)
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    topic: str
    def __init__(self, topic: _Optional[str] = ...) -> None: ...

class Binding(_message.Message):
    __slots__ = ("topic", "queue")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    topic: str
    queue: str
    def __init__(self, topic: _Optional[str] = ..., queue: _Optional[str] = ...) -> None: ...

class ListBindingsResponse(_message.Message):
    __slots__ = ("bindings",)
    BINDINGS_FIELD_NUMBER: _ClassVar[int]
    bindings: _containers.RepeatedCompositeFieldContainer[Binding]
    def __init__(self, bindings: _Optional[_Iterable[_Union[Binding, _Mapping]]] = ...) -> None: ...

class Backoff(_message.Message):
    __slots__ = ("first", "factor", "cap", "jitter")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    FACTOR_FIELD_NUMBER: _ClassVar[int]
    CAP_FIELD_NUMBER: _ClassVar[int]
    JITTER_FIELD_NUMBER: _ClassVar[int]
    first: _duration_pb2.Duration
    factor: float
    cap: _duration_pb2.Duration
    jitter: float
    def __init__(self, first: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., factor: _Optional[float] = ..., cap: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., jitter: _Optional[float] = ...) -> None: ...

class Rate(_message.Message):
    __slots__ = ("limit", "period")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PERIOD_FIELD_NUMBER: _ClassVar[int]
    limit: int
    period: _duration_pb2.Duration
    def __init__(self, limit: _Optional[int] = ..., period: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Tags(_message.Message):
    __slots__ = ("tags",)
    class TagsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TAGS_FIELD_NUMBER: _ClassVar[int]
    tags: _containers.ScalarMap[str, str]
    def __init__(self, tags: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Settings(_message.Message):
    __slots__ = ("max_attempts", "lease", "delay", "backoff", "delivery", "fifo", "retention", "max_age", "dead_letter", "paused", "max_length", "archive", "tags", "rate")
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    DELAY_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    FIFO_FIELD_NUMBER: _ClassVar[int]
    RETENTION_FIELD_NUMBER: _ClassVar[int]
    MAX_AGE_FIELD_NUMBER: _ClassVar[int]
    DEAD_LETTER_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    MAX_LENGTH_FIELD_NUMBER: _ClassVar[int]
    ARCHIVE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    max_attempts: int
    lease: _duration_pb2.Duration
    delay: _duration_pb2.Duration
    backoff: Backoff
    delivery: str
    fifo: bool
    retention: _duration_pb2.Duration
    max_age: _duration_pb2.Duration
    dead_letter: str
    paused: bool
    max_length: int
    archive: str
    tags: Tags
    rate: Rate
    def __init__(self, max_attempts: _Optional[int] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., delay: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., backoff: _Optional[_Union[Backoff, _Mapping]] = ..., delivery: _Optional[str] = ..., fifo: _Optional[bool] = ..., retention: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_age: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., dead_letter: _Optional[str] = ..., paused: _Optional[bool] = ..., max_length: _Optional[int] = ..., archive: _Optional[str] = ..., tags: _Optional[_Union[Tags, _Mapping]] = ..., rate: _Optional[_Union[Rate, _Mapping]] = ...) -> None: ...

class Queue(_message.Message):
    __slots__ = ("name", "settings")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    name: str
    settings: Settings
    def __init__(self, name: _Optional[str] = ..., settings: _Optional[_Union[Settings, _Mapping]] = ...) -> None: ...

class PutQueueRequest(_message.Message):
    __slots__ = ("name", "changes", "none")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    NONE_FIELD_NUMBER: _ClassVar[int]
    name: str
    changes: Settings
    none: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., changes: _Optional[_Union[Settings, _Mapping]] = ..., none: _Optional[_Iterable[str]] = ...) -> None: ...

class QueueRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListQueuesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListQueuesResponse(_message.Message):
    __slots__ = ("queues",)
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedCompositeFieldContainer[Queue]
    def __init__(self, queues: _Optional[_Iterable[_Union[Queue, _Mapping]]] = ...) -> None: ...

class DropQueueResponse(_message.Message):
    __slots__ = ("changed",)
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    def __init__(self, changed: _Optional[bool] = ...) -> None: ...

class PurgeQueueResponse(_message.Message):
    __slots__ = ("count",)
    COUNT_FIELD_NUMBER: _ClassVar[int]
    count: int
    def __init__(self, count: _Optional[int] = ...) -> None: ...

class Stats(_message.Message):
    __slots__ = ("ready", "scheduled", "leased", "done", "dead", "oldest_age")
    READY_FIELD_NUMBER: _ClassVar[int]
    SCHEDULED_FIELD_NUMBER: _ClassVar[int]
    LEASED_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    DEAD_FIELD_NUMBER: _ClassVar[int]
    OLDEST_AGE_FIELD_NUMBER: _ClassVar[int]
    ready: int
    scheduled: int
    leased: int
    done: int
    dead: int
    oldest_age: _duration_pb2.Duration
    def __init__(self, ready: _Optional[int] = ..., scheduled: _Optional[int] = ..., leased: _Optional[int] = ..., done: _Optional[int] = ..., dead: _Optional[int] = ..., oldest_age: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class WaitRequest(_message.Message):
    __slots__ = ("queues", "timeout")
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedScalarFieldContainer[str]
    timeout: _duration_pb2.Duration
    def __init__(self, queues: _Optional[_Iterable[str]] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class WaitResponse(_message.Message):
    __slots__ = ("woken",)
    WOKEN_FIELD_NUMBER: _ClassVar[int]
    woken: bool
    def __init__(self, woken: _Optional[bool] = ...) -> None: ...

class BeatRequest(_message.Message):
    __slots__ = ("queue", "consumer", "ttl")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    queue: str
    consumer: str
    ttl: _duration_pb2.Duration
    def __init__(self, queue: _Optional[str] = ..., consumer: _Optional[str] = ..., ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Membership(_message.Message):
    __slots__ = ("index", "count", "joined")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    JOINED_FIELD_NUMBER: _ClassVar[int]
    index: int
    count: int
    joined: bool
    def __init__(self, index: _Optional[int] = ..., count: _Optional[int] = ..., joined: _Optional[bool] = ...) -> None: ...

class RetireRequest(_message.Message):
    __slots__ = ("queue", "consumer")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    queue: str
    consumer: str
    def __init__(self, queue: _Optional[str] = ..., consumer: _Optional[str] = ...) -> None: ...

class RetireResponse(_message.Message):
    __slots__ = ("changed",)
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    def __init__(self, changed: _Optional[bool] = ...) -> None: ...

class ListConsumersRequest(_message.Message):
    __slots__ = ("queue",)
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    queue: str
    def __init__(self, queue: _Optional[str] = ...) -> None: ...

class Consumer(_message.Message):
    __slots__ = ("queue", "name", "born_at", "alive_until")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    BORN_AT_FIELD_NUMBER: _ClassVar[int]
    ALIVE_UNTIL_FIELD_NUMBER: _ClassVar[int]
    queue: str
    name: str
    born_at: _timestamp_pb2.Timestamp
    alive_until: _timestamp_pb2.Timestamp
    def __init__(self, queue: _Optional[str] = ..., name: _Optional[str] = ..., born_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., alive_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListConsumersResponse(_message.Message):
    __slots__ = ("consumers",)
    CONSUMERS_FIELD_NUMBER: _ClassVar[int]
    consumers: _containers.RepeatedCompositeFieldContainer[Consumer]
    def __init__(self, consumers: _Optional[_Iterable[_Union[Consumer, _Mapping]]] = ...) -> None: ...

class GetStoreRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Store(_message.Message):
    __slots__ = ("now", "durability", "because")
    NOW_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    BECAUSE_FIELD_NUMBER: _ClassVar[int]
    now: _timestamp_pb2.Timestamp
    durability: str
    because: str
    def __init__(self, now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., durability: _Optional[str] = ..., because: _Optional[str] = ...) -> None: ...
