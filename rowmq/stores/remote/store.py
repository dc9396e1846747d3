"""The store behind a server: the life of messages, with the other roles beside it."""

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from rowmq.core.delivery import Adopted, Claim, Delivery, Receipt, Settlement, Want
from rowmq.core.errors import OutcomeUnknown, QueueNotFound, RowMQError, StoreError, StoreUnavailable
from rowmq.core.history import Durability
from rowmq.core.message import Batch, Pushed
from rowmq.core.outcome import Settled
from rowmq.core.store import Consumers, History, Queues, Schedules, Topics
from rowmq.stores.remote import receiving, writing
from rowmq.stores.remote.claim_shapes import (
    AdoptedClaim,
    Adopting,
    ClaimedLists,
    ClaimedMessages,
    Extended,
    Extending,
    Held,
    NamedClaim,
    SettledAll,
    Settling,
    Waiting,
    Wants,
    Woken,
)
from rowmq.stores.remote.history import RemoteHistory
from rowmq.stores.remote.history_shapes import StoreShape
from rowmq.stores.remote.role import Role, encoded, refuse_transaction
from rowmq.stores.remote.roles import RemoteConsumers, RemoteQueues, RemoteSchedules, RemoteTopics
from rowmq.stores.remote.shapes import (
    LARGEST_BATCH,
    LONGEST_WAIT,
    BatchAnswer,
    BatchAnswers,
    NewBatch,
    NewBatches,
)
from rowmq.stores.remote.transport import Transport, error_of, segment

HEAVIEST = 8 * 2**20
"""How many bytes of payloads go in one request, unless a single batch has more."""
T = TypeVar("T")


class RemoteStore(Role):
    """A store behind a RowMQ server. It may be used from many threads, and after a fork.

    It can do whatever the server's store can, but join a transaction of the caller's.
    """

    queues: Queues
    topics: Topics
    consumers: Consumers
    schedules: Schedules
    history: History
    abreast = 1

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.queues = RemoteQueues(transport)
        self.topics = RemoteTopics(transport)
        self.consumers = RemoteConsumers(transport)
        self.schedules = RemoteSchedules(transport)
        self.history = RemoteHistory(transport)

    def __repr__(self) -> str:
        return f"RemoteStore({self.transport!r})"

    def now(self) -> datetime:
        """What the clock of the server's store says."""
        return self.look("/v1/store", StoreShape).now

    @property
    def durability(self) -> Durability:
        """What an acknowledged write survives, in the server's store."""
        found = self.look("/v1/store", StoreShape).durability
        return Durability(found.grade, found.because)

    def push(
        self, batches: Sequence[Batch], *, tx: object = None, now: datetime | None = None
    ) -> list[Pushed | RowMQError]:
        """Store each batch whole or not at all; after a lost reply it is sent again, and counts once."""
        refuse_transaction(tx)
        answers: list[Pushed | RowMQError] = []
        for some in _requests(batches):
            shape = NewBatches(batches=[_batch(each) for each in some])
            found = self.send("POST", "/v1/push", shape, BatchAnswers, now=now, again=True)
            answers += _answers(found.results)
        return answers

    def claim(
        self, queue: str, wants: Sequence[Want], *, now: datetime | None = None
    ) -> list[list[Delivery]]:
        """Lease messages to each want, first wants first."""
        path = f"/v1/queues/{segment(queue)}"
        if len(wants) == 1:
            one = self.send("POST", f"{path}/claim", writing.want(wants[0]), ClaimedMessages, now=now)
            return [receiving.deliveries(one.messages)]
        shape = Wants(wants=[writing.want(each) for each in wants])
        many = self.send("POST", f"{path}/claims", shape, ClaimedLists, now=now)
        return [receiving.deliveries(each) for each in many.results]

    def extend(
        self, receipts: Sequence[Receipt | Claim], lease: timedelta, *, now: datetime | None = None
    ) -> list[datetime | None]:
        """Let leases end that long from now, and tell the new end of each, or None where it is lost."""
        ends: list[datetime | None] = []
        for some in _parts(receipts):
            shape = Extending(receipts=[_held(each) for each in some], lease=lease.total_seconds())
            ends += self.send("POST", "/v1/extend", shape, Extended, now=now, again=True).until
        return ends

    def settle(
        self, settlements: Sequence[Settlement], *, tx: object = None, now: datetime | None = None
    ) -> list[Settled]:
        """Ack, retry, release or bury."""
        refuse_transaction(tx)
        answers: list[Settled] = []
        for some in _parts(settlements):
            shape = Settling(settlements=[writing.settlement(_held(held), outcome) for held, outcome in some])
            answers += self.send("POST", "/v1/settle", shape, SettledAll, now=now).results
        return answers

    def adopt(
        self, name: str, *, lease: timedelta | None = None, now: datetime | None = None
    ) -> Adopted | None:
        """Take over a named claim, so that the former run is fenced."""
        shape = Adopting(name=name, lease=writing.seconds(lease))
        found = self.maybe("POST", "/v1/adopt", AdoptedClaim, encoded(shape), now=now)
        if found is None:
            return None
        claim = Claim(found.claim.name, found.claim.token.encode())
        return Adopted(claim, found.runs, receiving.deliveries(found.messages))

    def wait(self, queues: Sequence[str], timeout: timedelta) -> bool:
        """Sleep until something may have been pushed to one of the queues, or the timeout."""
        end = time.monotonic() + timeout.total_seconds()
        while (left := end - time.monotonic()) > 0:
            if self._woken(queues, min(left, LONGEST_WAIT)):
                return True
        return False

    def migrate(self) -> list[str]:
        """Do nothing: the tables are the server's."""
        return []

    def close(self) -> None:
        """Give back every connection."""
        self.transport.close()

    def _woken(self, queues: Sequence[str], seconds: float) -> bool:
        shape = Waiting(queue=list(queues), timeout=seconds)
        return self.send("POST", "/v1/wait", shape, Woken, reads=True, wait=seconds).woken


def _held(held: Receipt | Claim) -> Held:
    """A receipt, or named claim, as its server wrote it; what nobody wrote is sent all the same."""
    token = held.token.decode("latin-1")
    return NamedClaim(name=held.name, token=token) if isinstance(held, Claim) else f"{held.seq}.{token}"


def _batch(batch: Batch) -> NewBatch:
    return NewBatch(queue=batch.queue, messages=[writing.message(each) for each in batch.messages])


def _requests(batches: Sequence[Batch]) -> list[list[Batch]]:
    """Batches, as many to a request as it may hold."""
    requests: list[list[Batch]] = []
    count = size = 0
    for batch in batches:
        count += len(batch.messages)
        size += sum(len(message.body) for message in batch.messages)
        if not requests or count > LARGEST_BATCH or size > HEAVIEST:
            requests.append([])
            count, size = len(batch.messages), sum(len(message.body) for message in batch.messages)
        requests[-1].append(batch)
    return requests


def _answers(results: Sequence[BatchAnswer]) -> list[Pushed | RowMQError]:
    """What each batch is answered with; raises if the store was away, though it may have some of them."""
    answers = [_answer(each) for each in results]
    failed = [each for each in answers if isinstance(each, StoreError)]
    if not failed:
        return answers
    if len(failed) == len(answers) and all(isinstance(each, StoreUnavailable) for each in failed):
        raise failed[0]
    raise OutcomeUnknown("the server stored some of the batches; push them again under the same ids")


def _answer(result: BatchAnswer) -> Pushed | RowMQError:
    if result.stored is None:
        return QueueNotFound("") if result.problem is None else error_of(result.problem)
    return Pushed(result.stored.ids, result.stored.seqs, frozenset(result.stored.seen))


def _parts(values: Sequence[Any]) -> list[Sequence[Any]]:
    return [values[start : start + LARGEST_BATCH] for start in range(0, len(values), LARGEST_BATCH)]
