"""What a peer of a consumer has to receive: a queue for each key, which survives the server.

GOMQ's peer is a connection. Each peer of each consumer subscribed to a key has a queue of its own, bound to
the topic of that name. Whose it is stands in its tags; its name is only unlike all others, because two
names together may be longer than one may be.
"""

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from rowmq.core.history import Amendment
from rowmq.core.outcome import State
from rowmq.core.queue import Queue
from rowmq.core.store import Store
from rowmq.doors.grpc.leased import take_back
from rowmq.runtime.log import event, logger

PREFIX = "gomq."
KIND = "gomq"
LEASE = timedelta(seconds=60)
"""How long a record waits for the next Observe, which must come sooner for the peer to be there at all."""
PATIENCE = timedelta(seconds=30)
"""How long a peer may be silent."""
BEATS = 6
"""How many signs of life that patience has; the store is not written to at every Observe."""
KEPT = timedelta(days=7)
"""How long what a consumer has not received waits for its next peer."""
SETTINGS = {"fifo": True, "max_attempts": None, "retention": timedelta(0), "lease": LEASE}
Check = Callable[..., None]
"""Raises, unless somebody may have what is published to these keys."""
WAITING = (State.READY, State.SCHEDULED)


@dataclass(frozen=True, slots=True)
class Inbox:
    """The queue of one peer of one consumer for one key; without a peer it waits for the next."""

    queue: str
    consumer: str
    key: str
    peer: str
    server: str
    """Where the peer is connected to."""
    run: str
    """Which run of that server it is; a run's connections end with it."""
    since: datetime
    """What was published before then it may have no copy of, what came later it has."""

    @classmethod
    def of(cls, queue: Queue) -> "Inbox | None":
        """The inbox that a queue is, if it is one."""
        tags = queue.tags
        if tags.get("rowmq") != KIND:
            return None
        said = {name: tags.get(name, "") for name in ("consumer", "key", "peer", "server", "run")}
        return cls(queue=queue.name, since=datetime.fromisoformat(tags["since"]), **said)

    @property
    def tags(self) -> Mapping[str, str]:
        """What its queue says of it."""
        names = ("consumer", "key", "peer", "server", "run")
        return {"rowmq": KIND, "since": self.since.isoformat()} | {
            each: getattr(self, each) for each in names
        }


def alive(patience: timedelta) -> timedelta:
    """How long a sign of life of a peer counts."""
    return patience + patience / BEATS


def name_of(*parts: str) -> str:
    """A queue's name made of parts of any length, and of no others.

    >>> name_of("ab", "c") == name_of("a", "bc")
    False
    """
    said = "".join(f"{len(part)}:{part}" for part in parts)
    return PREFIX + hashlib.sha256(said.encode()).hexdigest()[:40]


class Inboxes:
    """The inboxes in a store. Everything here talks to the store, so it belongs into a thread."""

    def __init__(self, store: Store, *, server: str, run: str, alive: timedelta) -> None:
        self.store, self._server, self._run, self._alive = store, server, run, alive

    def all(self) -> list[Inbox]:
        """Every inbox there is, the oldest first."""
        found = [each for each in map(Inbox.of, self.store.queues.list()) if each is not None]
        return sorted(found, key=lambda each: (each.since, each.queue))

    def of(self, consumer: str) -> list[Inbox]:
        """A consumer's inboxes."""
        return [each for each in self.all() if each.consumer == consumer]

    def complete(self, consumer: str, key: str | None, peer: str, check: Check) -> list[Inbox]:
        """Give every peer of the consumer, this one too, an inbox for each of its keys, this one too.

        Without a key, and with none before, there is nothing to give. ``check`` is called with all keys
        before anything is changed.
        """
        found = self.of(consumer)
        keys = sorted({each.key for each in found} | ({key} if key is not None else set()))
        check(*keys)
        peers = [peer, *sorted({each.peer for each in found} - {peer, ""})]
        missing = [(key, name) for name in peers for key in keys if not _has(found, key, name)]
        waiting = {each.key: each for each in found if not each.peer}
        homes = {each.peer: (each.server, each.run) for each in found} | {peer: (self._server, self._run)}
        for wanted, name in missing:
            self._put(waiting.pop(wanted, None), consumer, wanted, name, *homes[name])
        return self.of(consumer) if missing else found

    def beat(self, inboxes: Sequence[Inbox]) -> None:
        """Say that the peer of these is there."""
        for each in inboxes:
            self.store.consumers.beat(each.queue, each.peer, self._alive)

    def unsubscribe(self, consumer: str, key: str) -> list[Inbox]:
        """Discard all inboxes of a consumer for a key; which they were."""
        gone = [each for each in self.of(consumer) if each.key == key]
        for each in gone:
            self.store.queues.drop(each.queue)
        return gone

    def leave(self, consumer: str, peer: str) -> None:
        """A peer has gone: what only it had to receive goes to another, or waits for the next."""
        found = self.of(consumer)
        for inbox in [each for each in found if each.peer == peer]:
            take_back(self.store, inbox.queue)  # so that it comes again at once, and first
            others = [each for each in found if each.peer not in {"", peer} and each.key == inbox.key]
            if others:
                self._hand_over(inbox, others[0])
                self.store.queues.drop(inbox.queue)
            else:
                self._keep(inbox)
        event(logger, logging.INFO, "grpc.peer_gone", consumer=consumer, peer=peer)

    def abandoned(self, *, silent: bool) -> list[Inbox]:
        """Inboxes whose peer has gone unnoticed by this run: with its server or, if ``silent``, long ago."""
        found = [each for each in self.all() if each.peer]
        alive, now = {each.queue for each in self.store.consumers.list()}, self.store.now()
        former = [each for each in found if each.server == self._server and each.run != self._run]
        unheard = [each for each in found if each.queue not in alive and each.since + self._alive < now]
        return [*former, *(unheard if silent else ())]

    def forget(self) -> None:
        """Drop what has waited too long for a consumer's next peer."""
        before = self.store.now() - KEPT
        for each in self.all():
            if not each.peer and each.since < before:
                self.store.queues.drop(each.queue)

    def _put(self, waiting: Inbox | None, consumer: str, key: str, peer: str, server: str, run: str) -> None:
        """Make an inbox, or let one that waits be this peer's."""
        queue = name_of(consumer, key, peer) if waiting is None else waiting.queue
        if waiting is not None and not self._wins(waiting, peer):
            queue = name_of(consumer, key, peer)  # another server's peer was quicker
        # Until it is bound it has a copy of nothing, so whatever is handed over meanwhile is for it.
        made = Inbox(queue, consumer, key, peer, server, run, self.store.now() + self._alive)
        self.store.queues.put(queue, {**SETTINGS, "tags": made.tags})
        self.beat([made])
        self.store.topics.bind(key, queue)
        bound = replace(made, since=self.store.now())
        self.store.queues.put(queue, {"tags": bound.tags})

    def _wins(self, waiting: Inbox, peer: str) -> bool:
        """Whether this peer is the one to have it, of all those at several servers who want it now."""
        return self.store.consumers.lead(f"{waiting.queue} {waiting.since.isoformat()}", peer, self._alive)

    def _keep(self, inbox: Inbox) -> None:
        """Let an inbox wait for the consumer's next peer; new messages are not for it meanwhile."""
        self.store.topics.unbind(inbox.key, inbox.queue)
        kept = Inbox(inbox.queue, inbox.consumer, inbox.key, "", "", "", self.store.now())
        self.store.queues.put(inbox.queue, {"tags": kept.tags})

    def _hand_over(self, inbox: Inbox, other: Inbox) -> None:
        """Move what came before the other peer was there, of which it has no copy."""
        history = self.store.history
        for state in WAITING:
            look = partial(history.find, inbox.queue, state=state, until=other.since)
            while ids := [each.id for each in look().records]:
                if not history.amend(ids, Amendment.MOVE, to=other.queue):
                    break


def _has(found: Sequence[Inbox], key: str, peer: str) -> bool:
    return any(each.key == key and each.peer == peer for each in found)
