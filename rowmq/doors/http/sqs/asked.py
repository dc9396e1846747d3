"""One operation asked for: by whom, about which queue or topic, and what all operations share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rowmq.core.queue import Queue
from rowmq.core.store import Store
from rowmq.doors.http.call import Call
from rowmq.doors.http.sqs.address import queue_arn, queue_url
from rowmq.doors.http.sqs.attempts import Attempts
from rowmq.doors.http.sqs.known import Known
from rowmq.doors.http.sqs.runner import Runner
from rowmq.doors.http.sqs.settings import Settings

Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shared:
    """What one server's operations share."""

    settings: Settings = field(default_factory=Settings)
    known: Known = field(default_factory=Known)
    attempts: Attempts = field(default_factory=Attempts)
    runner: Runner = field(default_factory=Runner)
    deleted: dict[str, float] = field(default_factory=dict)
    """When queues were deleted here, by a clock that only goes forward."""
    topics: set[str] = field(default_factory=set)
    """Topics that were created here and may have no subscription yet."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One operation, and the name of the queue or topic it is about."""

    call: Call
    shared: Shared
    name: str

    @property
    def settings(self) -> Settings:
        """How this door presents itself."""
        return self.shared.settings

    @property
    def store(self) -> Store:
        """The store; to be asked within ``call.run`` only."""
        return self.call.broker.store

    async def queue(self) -> Queue:
        """The queue it is about. Raises Fault if there is none."""
        return await self.shared.known.get(self.call.broker, self.name)

    async def fresh_queue(self) -> Queue:
        """The queue it is about, as it is in this moment. Raises Fault if there is none."""
        return await self.shared.known.look(self.call.broker, self.name)

    async def change(self, change: Callable[[Queue], Mapping[str, Any]]) -> Queue:
        """Change the queue it is about, according to what it is now."""
        return await self.shared.known.change(self.call.broker, self.name, change)

    async def now(self) -> datetime:
        """What the store's clock says, or a test's."""
        return await self.call.run(self.store.now) if self.call.now is None else self.call.now

    def url(self, name: str) -> str:
        """A queue's URL, for this caller."""
        return queue_url(self.call.request, self.settings, name)

    def arn(self, name: str) -> str:
        """A queue's ARN."""
        return queue_arn(self.settings, name)
