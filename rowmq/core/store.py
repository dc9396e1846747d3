"""The store protocol: what every store does, whatever the database.

Batches only; the single case is a list of one. ``now=None`` means the store's own clock, the only clock
that counts; tests pass a moment of their own. Where a method takes ``tx``, that is the caller's own
SQLAlchemy Session or Connection, or a driver connection of the store's kind: what is done becomes real
only if the caller commits, and a conflict is ``TransactionConflict``, the caller's to retry.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from rowmq.core.chunk import Past
from rowmq.core.delivery import Adopted, Claim, Delivery, Membership, Receipt, Settlement, Want
from rowmq.core.errors import RowMQError
from rowmq.core.history import (
    Amendment,
    ConsumerInfo,
    Durability,
    FailedAttempt,
    LedgerEntry,
    Page,
    Record,
    Schedule,
    Stats,
    Swept,
)
from rowmq.core.message import Batch, Message, Pushed
from rowmq.core.outcome import Settled, State
from rowmq.core.queue import Queue
from rowmq.core.where import Where

GRACE = timedelta(seconds=2)
"""How long after the first binding of a topic others that bind still get its kept backlog."""
CLAIMS_KEPT = timedelta(days=7)
"""How long a named claim is remembered."""
STAGES_KEPT = timedelta(days=2)
"""How long what a bulk writer has staged waits for its commit."""
BATCHES_KEPT = timedelta(days=90)
"""How long after its last batch a bulk writer is remembered."""
BACKLOG = "\x1f"
"""Before a topic's name: the hidden queue of what nobody was bound for. No user's name can begin so."""
IDS_KEPT = timedelta(hours=1)
"""How long id and outcome of a message stay in a queue with retention 0."""


class Queues(Protocol):
    """The queues and their settings."""

    def put(
        self, name: str, changes: Mapping[str, Any] | None = None, *, now: datetime | None = None
    ) -> Queue:
        """Create the queue, or change the given settings of an existing one, and return it.

        Raises InvalidSetting if a value is out of range or dead letters would go round in a circle, and
        QueueNotFound if the dead-letter queue does not exist; then nothing is changed.
        """

    def get(self, name: str) -> Queue | None:
        """The queue, or None."""

    def list(self) -> list[Queue]:
        """All queues by name."""

    def drop(self, name: str, *, now: datetime | None = None) -> bool:
        """Delete the queue with everything in it, and leave a ledger entry; False if there is none.

        Raises QueueInUse while it is another queue's dead-letter queue. Its bindings, schedules and
        consumers go too.
        """

    def purge(
        self,
        name: str,
        *,
        state: State | None = None,
        before: datetime | None = None,
        limit: int | None = None,
        now: datetime | None = None,
    ) -> int:
        """Delete what still waits in the queue (ready and scheduled), or what is in one state; how many.

        With ``before``, only messages pushed before that moment; with ``limit``, at most so many.
        Fewer than the limit are all there were. Leaves a ledger entry. Raises QueueNotFound.
        """

    def stats(self, name: str, *, now: datetime | None = None) -> Stats:
        """Count the queue's messages by state. Raises QueueNotFound.

        Messages waiting behind their group's head count as if they had no group.
        """


class Topics(Protocol):
    """Publish and subscribe: a subscription is a queue bound to a topic."""

    def bind(self, topic: str, queue: str, *, now: datetime | None = None) -> bool:
        """Bind a queue; False if it was bound. Raises QueueNotFound.

        What was published while nothing was bound goes to the first queue bound, and to those bound
        within GRACE after it.
        """

    def unbind(self, topic: str, queue: str, *, now: datetime | None = None) -> bool:
        """Unbind a queue, leaving its messages where they are; False if it was not bound."""

    def publish(
        self, topic: str, messages: Sequence[Message], *, tx: object = None, now: datetime | None = None
    ) -> int:
        """Push a copy of each message to every bound queue, all or nothing, and return how many queues.

        With none bound the messages are kept for the first to bind. A copy's id is derived from the
        message's and the queue's name. Raises what any of the queues refuses with.
        """

    def bindings(self, topic: str | None = None) -> list[tuple[str, str]]:
        """The bound (topic, queue) pairs, of one topic or all, sorted."""


class Consumers(Protocol):
    """Who is consuming: a consumer is alive until its time to live has passed without a beat."""

    def beat(self, queue: str, consumer: str, ttl: timedelta, *, now: datetime | None = None) -> Membership:
        """Register the consumer, or keep it alive, and tell its place; the dead are forgotten.

        Raises QueueNotFound.
        """

    def retire(self, queue: str, consumer: str) -> bool:
        """Forget the consumer at once; False if it was not registered."""

    def list(self, queue: str | None = None, *, now: datetime | None = None) -> list[ConsumerInfo]:
        """The consumers alive now, by queue and birth."""

    def lead(self, role: str, consumer: str, ttl: timedelta, *, now: datetime | None = None) -> bool:
        """Take the lead of a role, or keep it, for that long from now; False while another has it.

        Of any number who ask at once, one gets it. The same consumer may ask again at any time.
        """


class Schedules(Protocol):
    """Messages pushed by the clock. The store fires a tick once; what the ticks are is the scheduler's."""

    def put(self, schedule: Schedule, *, now: datetime | None = None) -> None:
        """Create or replace the schedule of this name. Raises QueueNotFound."""

    def list(self, *, due: datetime | None = None) -> list[Schedule]:
        """All schedules by name, or only those, not paused, whose next tick is due then."""

    def drop(self, name: str) -> bool:
        """Delete the schedule; False if there is none."""

    def fire(self, name: str, tick: datetime, following: datetime, *, now: datetime | None = None) -> bool:
        """Push the schedule's message for this tick and set the following one, at once and only once.

        False if the tick is not the schedule's next one any more, or it is paused or gone: somebody else
        was here. The pushed id is derived from the message's and the tick.
        """


class History(Protocol):
    """Looking things up, putting things right, and clearing up."""

    def get(self, id: UUID, *, now: datetime | None = None) -> Record | None:
        """The message with this id, or None."""

    def receipt(self, id: UUID, *, now: datetime | None = None) -> Receipt | None:
        """The receipt of whoever holds the message now; None if nobody does, or the lease has ended.

        For protocols whose holders show an id instead of a receipt: what is settled with it is still fenced.
        """

    def find(
        self,
        queue: str | None = None,
        *,
        state: State | None = None,
        where: Where = (),
        since: datetime | None = None,
        until: datetime | None = None,
        after: int = 0,
        limit: int = 100,
        now: datetime | None = None,
    ) -> Page:
        """A page of messages by seq: those now in the queue, in the state, created in [since, until)."""

    def failures(self, id: UUID) -> list[FailedAttempt]:
        """The message's failed attempts, oldest first."""

    def redrive(
        self, queue: str, *, to: str | None = None, limit: int | None = None, now: datetime | None = None
    ) -> int:
        """Give the queue's dead messages, and those waiting in it that were dead-lettered, another life.

        Dead ones go back to this queue and dead-lettered ones to the queue they came from (or all to
        ``to``), oldest first, at once, with attempts at 0. Returns how many. Raises QueueNotFound.
        """

    def amend(
        self, ids: Sequence[UUID], amendment: Amendment, *, to: str | None = None, now: datetime | None = None
    ) -> int:
        """Retry, kill, move (``to`` a queue) or drop messages without holding them; how many changed.

        Whoever holds one loses it. ``retry`` makes unfinished and dead messages ready with attempts at 0,
        ``kill`` buries unfinished ones, ``move`` takes unfinished and dead ones, ``drop`` deletes any and
        leaves a ledger entry.
        """

    def scan(
        self,
        first: int,
        last: int,
        *,
        queue: str | None = None,
        state: State | None = None,
        now: datetime | None = None,
    ) -> list[Record]:
        """Every message with a seq in [first, last], for bulk readers."""

    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest seq stored; (0, 0) if there is none."""

    def archive(
        self,
        seqs: Sequence[int],
        *,
        prune: bool = False,
        before: datetime | None = None,
        now: datetime | None = None,
    ) -> int:
        """Mark finished messages as archived; with ``prune`` delete them, with a ledger entry. How many.

        With ``before``, only those finished before that moment: one that was given another life after it
        was copied, and has ended again, is not what the copy is of.
        """

    def ledger(self, queue: str | None = None) -> list[LedgerEntry]:
        """What was deleted, oldest first."""

    def sweep(self, *, limit: int = 1000, now: datetime | None = None) -> Swept:
        """Do what no caller has come to do.

        Bury what is expired, lost or exhausted, prune what is past retention, forget what is past its
        time. Each kind stops at ``limit`` rows. Any number of sweepers may run at once.
        """


class Stages(Protocol):
    """Bulk writers on many machines whose messages count together, once. SQL stores have this role.

    The machines ``put`` what they have, then one of them commits all of it.
    """

    def put(
        self,
        job: str,
        stage: str,
        part: int,
        messages: Sequence[Message],
        *,
        pasts: Sequence[Past] | None = None,
        now: datetime | None = None,
    ) -> None:
        """Set messages down under a job, its stage and a number, where nobody can claim them yet."""

    def commit(
        self,
        job: str,
        stages: Mapping[str, int],
        *,
        writer: str,
        number: int,
        queue: str | None = None,
        topic: str | None = None,
        known_ids: bool = False,
        now: datetime | None = None,
    ) -> bool:
        """Push what these stages hold, in their order, all or nothing; False if it had been pushed before.

        It had been if the writer has committed this number or a higher one. ``stages`` says how many
        messages each must hold; if one holds fewer or more, StoreUnavailable is raised and nothing is pushed.
        Raises what the queue refuses with. ``known_ids`` tells that some may be stored already. Whatever else
        the job has staged is deleted.
        """

    def last(self, writer: str) -> int | None:
        """The highest number that the writer has committed; None if it has none, or was forgotten."""

    def drop(self, job: str) -> None:
        """Delete what the job has staged."""


class Store(Protocol):
    """The life of messages, and the other roles beside it."""

    queues: Queues
    topics: Topics
    consumers: Consumers
    schedules: Schedules
    history: History
    abreast: int
    """How many large claims one worker should have under way at once: more than one where the database is
    busy with one while the worker reads another."""

    def now(self) -> datetime:
        """What the store's clock says: the moment that ``now=None`` stands for."""

    @property
    def durability(self) -> Durability:
        """What an acknowledged write survives, read from the database's own settings."""

    def push(
        self, batches: Sequence[Batch], *, tx: object = None, now: datetime | None = None
    ) -> list[Pushed | RowMQError]:
        """Store each batch whole or not at all, and answer each with its result or its error.

        Errors: QueueNotFound, QueueFull, and DuplicateMessage if an id belongs to a different message.
        The same message with the same id again counts as seen, so a push may be repeated after a lost
        reply. A batch's order is its messages' order.
        """

    def claim(
        self, queue: str, wants: Sequence[Want], *, now: datetime | None = None
    ) -> list[list[Delivery]]:
        """Lease messages to each want, first wants first: highest priority, then longest visible, then seq.

        A claimed message is hidden until its lease ends and its attempt counts. Whatever is found
        overdue on the way is buried. A paused queue gives nothing, and one with a rate no more, over all
        wants, than its bucket holds. Otherwise a busy store may give less than there is, but it gives
        nothing only if it found nothing. Raises QueueNotFound.
        """

    def extend(
        self, receipts: Sequence[Receipt | Claim], lease: timedelta, *, now: datetime | None = None
    ) -> list[datetime | None]:
        """Let leases end that long from now; the new end of each, or None where the receipt is lost."""

    def settle(
        self, settlements: Sequence[Settlement], *, tx: object = None, now: datetime | None = None
    ) -> list[Settled]:
        """Ack, retry, release or bury.

        Only the message's current token counts, also after its lease has ended (but not in a fifo queue);
        an ack repeated with the token that won is ``repeated``, and the first one's result stays.
        """

    def adopt(
        self, name: str, *, lease: timedelta | None = None, now: datetime | None = None
    ) -> Adopted | None:
        """Take over a named claim: a new token for what is left of it, so that the former run is fenced.

        None if the name has never claimed, or was forgotten.
        """

    def wait(self, queues: Sequence[str], timeout: timedelta) -> bool:
        """Sleep until something may have been pushed to one of the queues, or the timeout.

        A hint: it may wake for nothing and it may miss, so poll as well.
        """

    def migrate(self) -> list[str]:
        """Bring the tables up to date; the names of the migrations that were run."""

    def close(self) -> None:
        """Give back every connection. The store cannot be used afterwards."""
