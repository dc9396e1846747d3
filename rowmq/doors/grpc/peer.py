"""One peer of a consumer: what it was sent, and what comes next."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from rowmq.core.delivery import Delivery, Settlement, Want
from rowmq.core.outcome import ACK, Release
from rowmq.doors.grpc.fitting import fitting
from rowmq.doors.grpc.inbox import Inbox
from rowmq.doors.grpc.news import Look, News
from rowmq.runtime.gather import Gather

RECORDS = 50
"""How many records of one key one Observe returns."""
Sent = list[tuple[str, Delivery]]
"""Keys and messages in the order they are sent."""


@dataclass(slots=True, eq=False)
class Peer:
    """A peer that this server is connected to. Its calls are answered one after the other."""

    consumer: str
    name: str
    inboxes: Sequence[Inbox] = ()
    seen: float = field(default_factory=time.monotonic)
    beaten: float = field(default_factory=time.monotonic)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    gone: bool = False
    _sent: Sent = field(default_factory=list)
    """What the last answer had: received, once the peer asks again."""
    _again: Sent = field(default_factory=list)
    """What was in an answer that never left: to be sent before anything else."""
    _limits: dict[str, int] = field(default_factory=dict)
    _looks: dict[str, Look] = field(default_factory=dict)
    """The inboxes that were found empty."""

    async def fetch(self, gather: Gather, news: News) -> None:
        """Ack what was received, and claim what is next. Raises QueueNotFound if an inbox has gone."""
        acks, wanted = self._sent, [(each, self._limit(each)) for each in self._wanted(news)]
        looks = {each.queue: Look(news.count(each.key)) for each, _ in wanted}
        settling = gather.settle([Settlement(each.receipt, ACK) for _, each in acks]) if acks else _nothing()
        claiming = [gather.claim(each.queue, self._want(limit)) for each, limit in wanted]
        # In one turn, so that they are one after the other in the store: acks go first.
        settled, claimed = await asyncio.gather(
            asyncio.gather(settling, return_exceptions=True),
            asyncio.gather(*claiming, return_exceptions=True),
        )
        if not isinstance(settled[0], BaseException):
            self._sent = self._sent[len(acks) :]
        for (inbox, limit), found in zip(wanted, claimed, strict=True):
            if not isinstance(found, BaseException):
                some = self._fitting(gather, inbox, found, limit)
                self._again += [(inbox.key, each) for each in some]
                if len(found) < limit and len(some) == len(found):  # else there is more
                    self._looks[inbox.queue] = looks[inbox.queue]
        for error in (*settled, *claimed):
            if isinstance(error, BaseException):
                raise error

    def take(self) -> Sent:
        """What is sent now."""
        taken = fitting([each for _, each in self._again])
        sent, self._again = self._again[:taken], self._again[taken:]
        self._sent = self._sent + sent
        return sent

    def untake(self, sent: Sent) -> None:
        """The answer never left: what was in it comes again, before everything else."""
        if sent and self._sent[-len(sent) :] == sent:
            self._sent = self._sent[: -len(sent)]
            self._again = sent + self._again

    async def release(self, gather: Gather) -> None:
        """Give back everything that is held."""
        held, self._sent, self._again = self._sent + self._again, [], []
        if held:
            await gather.settle([Settlement(each.receipt, Release()) for _, each in held])

    def _wanted(self, news: News) -> list[Inbox]:
        """Where to look: nothing of the key is left over, and there may be something new."""
        left = {key for key, _ in self._again}
        return [each for each in self.inboxes if each.key not in left and self._stale(each, news)]

    def _stale(self, inbox: Inbox, news: News) -> bool:
        look = self._looks.get(inbox.queue)
        if look is not None and not look.stale(news.count(inbox.key)):
            return False
        self._looks.pop(inbox.queue, None)
        return True

    def _limit(self, inbox: Inbox) -> int:
        return self._limits.get(inbox.queue, RECORDS)

    def _want(self, limit: int) -> Want:
        return Want(limit=limit, per_group=limit, consumer=self.name, share=False)

    def _fitting(
        self, gather: Gather, inbox: Inbox, found: Sequence[Delivery], limit: int
    ) -> Sequence[Delivery]:
        """As many as an answer can hold; the others go back, and fewer are claimed the next time."""
        count = fitting(found)
        gather.give_back(found[count:])
        self._limits[inbox.queue] = count if count < len(found) else min(RECORDS, 2 * limit)
        return found[:count]


async def _nothing() -> None:
    pass


def idle(peer: Peer, patience: timedelta) -> bool:
    """Whether nobody has heard of the peer for that long."""
    return not peer.lock.locked() and time.monotonic() - peer.seen > patience.total_seconds()
