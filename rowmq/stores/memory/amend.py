"""What operators do to messages that they do not hold."""

from collections.abc import Iterator, Sequence

from rowmq.core.history import Amendment
from rowmq.core.outcome import Reason, State
from rowmq.stores.memory.tables import Tables


def lives(tables: Tables, queue: str, to: str | None, now: int) -> Iterator[tuple[int, str]]:
    """The seqs that redriving a queue gives another life, and the queue in which."""
    for done in tables.finished.values():
        if done.queue == queue and _dead(tables, done.seq):
            yield done.seq, to or queue
    for row in tables.pending.values():
        if row.queue == queue and row.source is not None and row.state(now) != State.LEASED:
            target = to or row.source
            if target in tables.queues:
                yield row.seq, target


def amend(tables: Tables, seqs: Sequence[int], amendment: Amendment, to: str | None, now: int) -> int:
    """Do to each message what the amendment says, and count those to which it applies."""
    if amendment == Amendment.DROP:
        return tables.erase([seq for seq in seqs if _placed(tables, seq)], "amend", now)
    if amendment == Amendment.KILL:
        return sum(_kill(tables, seq, now) for seq in seqs)
    return sum(_restart(tables, seq, to if amendment == Amendment.MOVE else None, now) for seq in seqs)


def _kill(tables: Tables, seq: int, now: int) -> bool:
    row = tables.pending.get(seq)
    if row is not None:
        tables.bury(row, Reason.KILLED, now)
    return row is not None


def _restart(tables: Tables, seq: int, to: str | None, now: int) -> bool:
    """Make a pending or dead message ready, in another queue or where it is."""
    row = tables.pending.get(seq)
    if row is not None and to is None:
        row.attempts = 0
        tables.put_back(row, now)
    elif row is not None or _dead(tables, seq):
        tables.restart(seq, to or tables.finished[seq].queue, now)
    else:
        return False
    return True


def _placed(tables: Tables, seq: int) -> bool:
    """Whether the message is in a queue, and not only kept for a topic's first one."""
    return seq in tables.pending or seq in tables.finished


def _dead(tables: Tables, seq: int) -> bool:
    row = tables.finished.get(seq)
    return row is not None and row.state == State.DEAD
