"""The store behind a server's gRPC port."""

import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TypeVar, cast
from uuid import UUID

from rowmq.core import store as core
from rowmq.core.delivery import Adopted, Claim, Delivery, Receipt, Settlement, Want
from rowmq.core.errors import RowMQError, StoreError
from rowmq.core.history import Durability
from rowmq.core.message import Batch, Pushed
from rowmq.core.outcome import Settled
from rowmq.stores.grpc import elsewhere, reading, writing
from rowmq.stores.grpc import rowmq_pb2 as wire
from rowmq.stores.grpc.elsewhere import refuse, refuse_clock, refuse_transaction
from rowmq.stores.grpc.roles import GrpcConsumers, GrpcQueues, GrpcTopics
from rowmq.stores.grpc.times import length, moment
from rowmq.stores.grpc.transport import Transport

T = TypeVar("T")
LARGEST_BATCH = 10_000
LONGEST_WAIT = 20.0


class GrpcStore:
    """A store behind a RowMQ server: queues and topics. It may be used from many threads, and after a fork.

    Schedules and history are Unsupported; the server itself fires and sweeps.
    """

    queues: core.Queues
    topics: core.Topics
    consumers: core.Consumers
    schedules: core.Schedules
    history: core.History
    abreast = 1

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.queues, self.topics = GrpcQueues(transport), GrpcTopics(transport)
        self.consumers = GrpcConsumers(transport)
        self.schedules = cast("core.Schedules", elsewhere.Schedules("schedules"))
        self.history = cast("core.History", elsewhere.History("history"))

    def __repr__(self) -> str:
        return f"GrpcStore({self._transport!r})"

    def now(self) -> datetime:
        """What the clock of the server's store says."""
        found = moment(self._store(), "now")
        assert found is not None  # noqa: S101 - every server says it
        return found

    @property
    def durability(self) -> Durability:
        """What an acknowledged write survives, in the server's store."""
        found = self._store()
        return Durability(found.durability, found.because)

    def push(
        self, batches: Sequence[Batch], *, tx: object = None, now: datetime | None = None
    ) -> list[Pushed | RowMQError]:
        """Store each batch whole or not at all; after a lost reply it is sent again, and counts once."""
        refuse_transaction(tx)
        refuse_clock(now)
        return [self._push(each) for each in batches]

    def claim(
        self, queue: str, wants: Sequence[Want], *, now: datetime | None = None
    ) -> list[list[Delivery]]:
        """Lease messages to each want, first wants first."""
        refuse_clock(now)
        return [self._claim(queue, each) for each in wants]

    def extend(
        self, receipts: Sequence[Receipt | Claim], lease: timedelta, *, now: datetime | None = None
    ) -> list[datetime | None]:
        """Let leases end that long from now, and tell the new end of each, or None where it is lost."""
        refuse_clock(now)
        ends: list[datetime | None] = []
        for some in _parts([_text(each) for each in receipts]):
            asked = wire.ExtendRequest(receipts=some, lease=length(lease))
            found = self._transport.ask("Extend", asked, wire.ExtendResponse, again=True)
            ends += [moment(each, "until") for each in found.results]
        return ends

    def settle(
        self, settlements: Sequence[Settlement], *, tx: object = None, now: datetime | None = None
    ) -> list[Settled]:
        """Ack, retry, release or bury."""
        refuse_transaction(tx)
        refuse_clock(now)
        answers: list[Settled] = []
        for some in _parts([writing.settlement(_text(held), outcome) for held, outcome in settlements]):
            asked = wire.SettleRequest(settlements=some)
            answers += reading.settled(self._transport.ask("Settle", asked, wire.SettleResponse).results)
        return answers

    def adopt(
        self,
        name: str,
        *,
        lease: timedelta | None = None,  # noqa: ARG002 - whatever it is
        now: datetime | None = None,  # noqa: ARG002 - the same
    ) -> Adopted | None:
        """Refuse: claims have no names over gRPC."""
        refuse(f"to adopt the claim {name!r}")

    def wait(self, queues: Sequence[str], timeout: timedelta) -> bool:
        """Sleep until something may have been pushed to one of the queues, or the timeout."""
        end = time.monotonic() + timeout.total_seconds()
        while (left := end - time.monotonic()) > 0:
            span = min(left, LONGEST_WAIT)
            asked = wire.WaitRequest(queues=queues, timeout=length(timedelta(seconds=span)))
            if self._transport.ask("Wait", asked, wire.WaitResponse, wait=span, changes=False).woken:
                return True
        return False

    def migrate(self) -> list[str]:
        """Do nothing: the tables are the server's."""
        return []

    def close(self) -> None:
        """Give back the connection."""
        self._transport.close()

    def _store(self) -> wire.Store:
        found: wire.Store = self._transport.ask("GetStore", wire.GetStoreRequest(), wire.Store, changes=False)
        return found

    def _push(self, batch: Batch) -> Pushed | RowMQError:
        asked = wire.PushRequest(
            queue=batch.queue, messages=[writing.message(each) for each in batch.messages]
        )
        try:
            found = self._transport.ask("Push", asked, wire.PushResponse, again=True)
        except StoreError:
            raise
        except RowMQError as error:
            return error
        return Pushed([UUID(bytes=each) for each in found.ids], list(found.seqs), frozenset(found.seen))

    def _claim(self, queue: str, want: Want) -> list[Delivery]:
        if any(each is not None for each in (want.name, want.upto, want.since, want.until)):
            refuse("a claim with a name, or of what was pushed before or after something")
        found = self._transport.ask("Claim", writing.want(queue, want), wire.ClaimResponse)
        return [reading.delivery(each) for each in found.messages]


def _text(held: Receipt | Claim) -> str:
    """A receipt as its server wrote it; what nobody wrote is sent all the same."""
    if isinstance(held, Claim):
        refuse("a whole claim at once")
    return f"{held.seq}.{held.token.decode('latin-1')}"


def _parts(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), LARGEST_BATCH):
        yield values[start : start + LARGEST_BATCH]
