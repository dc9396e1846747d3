"""What differs from database to database beyond the text of a statement."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.orm import Session

from rowmq.core.errors import InvalidSetting
from rowmq.core.history import Durability
from rowmq.stores.fresh import uuid_of
from rowmq.stores.sql.floors import Floor

if TYPE_CHECKING:
    from rowmq.core.delivery import Want
    from rowmq.stores.sql.cursor import Cursor
    from rowmq.stores.sql.database import Database
    from rowmq.stores.sql.rows import Leased


TOKEN = 16
"""Bytes of a token; whoever shows another never held anything."""


class Trouble(Enum):
    """What a driver's error means to us."""

    CONFLICT = auto()
    """Busy, deadlock, lock timeout, serialization failure: run it again."""
    COLLISION = auto()
    """A unique key was taken: run it again, looking first."""
    GONE = auto()
    """The connection is broken."""
    REFUSED = auto()
    """The server is down, or does not let us in."""
    FULL = auto()
    """There is no room left on its disk."""
    UNSTORABLE = auto()
    """A text has a character that the database has no place for."""
    NO_TABLES = auto()
    """Our tables are not there."""
    OTHER = auto()


class Fresh(NamedTuple):
    """A message to insert, with the pending row it starts with."""

    id: Any
    queue: int
    body: bytes
    binary: bool
    metadata: str | None
    priority: int
    group_name: str | None
    dedup_key: str | None
    created_at: int
    scheduled_for: int | None
    deadline: int | None
    visible_at: int | None
    parked_until: int | None
    group_id: int | None


class Due(NamedTuple):
    """A message to insert that is due as it comes, its queue and the time left to the statement."""

    id: Any
    body: bytes
    binary: bool
    metadata: str | None
    priority: int
    deadline: int | None


class Stored(NamedTuple):
    """What one statement has stored: the queue's key, and the messages' seqs in order."""

    queue: int
    seqs: list[int]


class Plain(NamedTuple):
    """A claim that takes whatever is first in the queue of this name, from each priority's floor on.

    The floors are those of the queue that was ``known`` by this name.
    """

    queue: str
    known: int
    want: "Want"
    token: bytes
    floors: tuple[Floor, ...]
    busy: bool = False
    """Whether the last claim got all it asked for."""


class Taken(NamedTuple):
    """What was claimed at once: the queue's key and attempts, and the messages."""

    queue: int
    max_attempts: int | None
    said: "Callable[[], Leased] | None" = None
    """Gives a :class:`rows.Leased` of columns, in claim order; None if there was nothing.

    Reading them may wait until the transaction is over: whoever holds a lock should not read meanwhile."""


MANY = 100
"""Messages of a claim that is large: a worker's, who is busy."""


class Dialect(ABC):
    """One database's ways. A store is this and a ``queries.sql``."""

    driver: type
    """The class of the driver's connections."""
    package: str
    """Where queries.sql and migrations/ are."""
    style: Callable[[str], str]
    floors: bool = False
    """Whether claims start where the last one ended, to skip what vacuum has not removed yet."""
    abreast: int = 1
    """How many large claims one worker should have under way at once."""

    @abstractmethod
    def engine(self, url: URL) -> Engine:
        """An engine for this URL, with its options taken off."""

    def take_turn(self, cursor: "Cursor", queue: str) -> None:  # noqa: B027 - most need none
        """Before a large claim in a transaction: let others end theirs, where they would be in the way."""

    def guard(self, *, writes: bool) -> AbstractContextManager[object]:  # noqa: ARG002 - SQLite's differs
        """What this process holds from before a transaction begins until after it ends."""
        return nullcontext()

    @abstractmethod
    def begin(self, cursor: Any, *, writes: bool) -> None:
        """Begin a transaction on a driver's cursor."""

    @abstractmethod
    def snapshot(self, cursor: Any) -> None:
        """Let all statements of a transaction that has just begun, and only reads, see one moment."""

    def driver_connection(self, tx: object) -> Any:
        """The driver connection of the caller's transaction; InvalidSetting if it is not ours or not open."""
        connection: Any = tx
        if isinstance(tx, Session):
            connection = tx.connection().connection.driver_connection
        elif isinstance(tx, Connection):
            connection = tx.connection.driver_connection
        if not isinstance(connection, self.driver):
            ours = f"{self.driver.__module__.partition('.')[0]}.{self.driver.__name__}"
            raise InvalidSetting(
                f"tx is a SQLAlchemy Session or Connection or a {ours}, not {type(tx).__name__}"
            )
        return self.joined(connection)

    @abstractmethod
    def joined(self, connection: Any) -> Any:
        """A caller's connection, ready for our cursors; InvalidSetting if it has begun no transaction."""

    @abstractmethod
    def trouble(self, error: BaseException) -> Trouble:
        """What a driver's error means."""

    def clock(self) -> int | None:
        """The store's now if it is known without asking the database."""
        return None

    def id_in(self, id: UUID) -> Any:
        """An id as the driver takes it."""
        return id.bytes

    def id_out(self, value: Any) -> UUID:
        """An id from what the driver gives."""
        return uuid_of(int.from_bytes(value))

    @abstractmethod
    def many(self, values: Sequence[Any]) -> Any:
        """A list of values as one parameter."""

    @abstractmethod
    def insert(self, cursor: "Cursor", rows: Sequence[Fresh]) -> list[int]:
        """Insert messages with their pending rows, and return their seqs in order."""

    def insert_at_once(
        self,
        cursor: "Cursor",  # noqa: ARG002 - for those that can
        queue: str,  # noqa: ARG002
        rows: Sequence[Due],  # noqa: ARG002
        now: int | None,  # noqa: ARG002
    ) -> Stored | None:
        """Push to the queue of this name in one statement and without a transaction around it.

        None, and nothing done, if there is no such statement, no such queue, or more to look at.
        """
        return None

    @abstractmethod
    def pick(
        self, cursor: "Cursor", queue: int, floors: Sequence[Floor], now: int, limit: int
    ) -> list[tuple[Any, ...]]:
        """Lock up to ``limit`` due rows, the first in claim order, and read them with their messages."""

    def claim_at_once(
        self,
        cursor: "Cursor",  # noqa: ARG002 - for those that can
        asked: Plain,  # noqa: ARG002
        now: int | None,  # noqa: ARG002
    ) -> Taken | None:
        """Lease what is first without a look at the queue, and maybe without a transaction around it.

        None, and nothing taken, if there is no way to do so, no such queue, or a rule to look at.
        """
        return None

    def ack(
        self,
        cursor: "Cursor",
        pairs: Sequence[tuple[int, bytes]],
        now: int | None,
        *,
        alone: bool,  # noqa: ARG002 - for those that can
    ) -> set[int]:
        """Finish plain messages whose token is still theirs; the seqs that were. Others are left alone.

        If it is to be ``alone`` it may commit by itself.
        """
        wanted = set(pairs)
        rows = cursor.all("ack_hold", seqs=[seq for seq, _ in pairs])
        return self.finish(cursor, [row[0] for row in rows if row in wanted], now)

    def finish(self, cursor: "Cursor", held: Sequence[int], now: int | None) -> set[int]:
        """Finish plain messages that are held, and return their seqs."""
        if held:
            cursor.run("finish", seqs=list(held), state="done", reason=None, now=now)
            cursor.run("unpend", seqs=list(held))
        return set(held)

    @abstractmethod
    def condition(self, key: str) -> str:
        """SQL for the value of a metadata key, NULL where it is missing; ``key`` is a parameter's name."""

    @abstractmethod
    def in_list(self, name: str) -> str:
        """The right side of IN for a list parameter of text."""

    @abstractmethod
    def durability(self, cursor: "Cursor") -> Durability:
        """Read from the server's settings what an acknowledged write survives."""

    def keep_to_indexes(self, cursor: "Cursor") -> None:  # noqa: B027 - most statements say so themselves
        """For the rest of a transaction, read no table from end to end."""

    def for_each(
        self, cursor: "Cursor", statement: str, queues: Sequence[int], **said: int
    ) -> list[tuple[Any, ...]]:
        """The rows of a statement for each of many queues."""
        return [row for queue in queues for row in cursor.all(statement, queue=queue, **said)]

    def sizes(self, cursor: "Cursor") -> tuple[int | None, dict[str, int]]:
        """How large all of our tables are together, and each of them, as far as that is known."""
        sizes = {str(name): int(size) for name, size in cursor.all("sizes")}
        return sum(sizes.values()), sizes

    @abstractmethod
    def script(self, cursor: Any, sql: str) -> None:
        """Run a file of several statements."""

    @abstractmethod
    def lock_migrations(self, cursor: Any) -> None:
        """Let one process at a time migrate; released with the connection or the transaction."""

    def set_up(self, cursor: "Cursor") -> None:  # noqa: B027 - nothing, for most
        """Do what was asked for in the URL, right after the tables were made."""

    def check(self, database: "Database") -> None:  # noqa: B027 - nothing, for most
        """Raise InvalidURL if the tables are not as the URL asks."""

    def upkeep(self, database: "Database", now: int) -> int | None:  # noqa: ARG002 - only partitions do it
        """Prune by whole partitions, how many messages; None where rows are pruned one by one."""
        return None

    @abstractmethod
    def wait(self, database: "Database", queues: Collection[int], until: float) -> bool:
        """Wait for a push to these queues, by this process or another, until a moment of time.monotonic()."""

    def hold_still(self, engine: Engine) -> None:  # noqa: B027 - most dialects can be forked
        """Before a fork, when no transaction is under way: hold what a child must find at rest."""

    def let_go(self) -> None:  # noqa: B027 - most dialects can be forked
        """After a fork, in parent and child."""

    def close(self) -> None:  # noqa: B027 - most dialects hold nothing
        """Give back what the dialect itself holds."""
