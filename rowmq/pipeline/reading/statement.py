"""The statement that reads a range of seqs from the tables of an SQL store.

One statement for what is owed and what is finished, so that a message that is finished meanwhile is seen
once. The drivers for bulk take no parameters: numbers are written as digits and a name as hex digits, which
can be nothing but a name.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from rowmq.core.clock import micros
from rowmq.core.outcome import State
from rowmq.core.store import BACKLOG
from rowmq.pipeline.options import ReadOptions

FINISHED = (State.DONE, State.DEAD)


class Wording(NamedTuple):
    """What the databases say differently."""

    quote: str = '"'
    join: str = "JOIN"
    text: str = "CAST(x'{}' AS TEXT)"
    """How hex digits become text."""


WORDINGS: Mapping[str, Wording] = {
    "sqlite": Wording(),
    "postgresql": Wording(text="convert_from(decode('{}', 'hex'), 'UTF8')"),
    "mysql": Wording(quote="`", join="STRAIGHT_JOIN", text="x'{}'"),
}
_MESSAGE = {
    "seq": "m.seq",
    "id": "m.id",
    "queue": "q.name",
    "body": "m.body",
    "binary": "m.{quote}binary{quote}",
    "metadata": "m.metadata",
    "priority": "m.priority",
    "group": "m.group_name",
    "key": "m.dedup_key",
    "created_at": "m.created_at",
    "scheduled_for": "m.scheduled_for",
    "deadline": "m.deadline",
}
_TIME = "COALESCE(p.visible_at, p.parked_until)"
_STATE = f"CASE WHEN {_TIME} <= {{now}} THEN 'ready' WHEN p.token IS NULL THEN 'scheduled' ELSE 'leased' END"
_OWED = _MESSAGE | {
    "state": _STATE,
    "visible_at": _TIME,
    "attempts": "p.attempts",
    "receives": "p.receives",
    "consumer": "p.consumer",
    "started_at": "p.claimed_at",
    "finished_at": "NULL",
    "reason": "p.reason",
    "source": "p.source",
    "result": "NULL",
}
_DONE = _MESSAGE | {
    "state": "o.state",
    "visible_at": "NULL",
    **{
        name: f"o.{name}"
        for name in (
            "attempts",
            "receives",
            "consumer",
            "started_at",
            "finished_at",
            "reason",
            "source",
            "result",
        )
    },
}
_FAILURE = {
    name: f"f.{name}" for name in ("seq", "attempt", "queue", "consumer", "started_at", "ended_at", "error")
} | {"id": "m.id"}


def statement(
    kind: str, columns: Sequence[str], options: ReadOptions, first: int, last: int, now: datetime
) -> str:
    """Read these columns of the messages, or their failures, that the options ask for."""
    parts = [_part(kind, columns, options, (first, last), now, owed=owed) for owed in _halves(options)]
    return " UNION ALL ".join(parts)


def known_columns(columns: Sequence[str], options: ReadOptions) -> list[str]:
    """The columns without those that are NULL for all that is asked for: no driver could tell their type."""
    sources = [_said(options, owed=owed) for owed in _halves(options)]
    return [name for name in columns if any(said[name] != "NULL" for said in sources)] or ["seq"]


def _halves(options: ReadOptions) -> list[bool]:
    """Whether what is owed (True) and what is finished (False) is asked for."""
    asked = options.state - set(FINISHED), options.state & set(FINISHED)
    return [owed for owed, states in zip((True, False), asked, strict=True) if states]


def _said(options: ReadOptions, *, owed: bool) -> Mapping[str, str]:
    """How each column is said."""
    if options.table == "failures":
        return _FAILURE
    return _OWED if owed else _DONE


def longest_body(first: int, last: int) -> str:
    """The size of the largest payload among these seqs."""
    return f"SELECT MAX(LENGTH(body)) AS size FROM rowmq_messages WHERE seq BETWEEN {first:d} AND {last:d}"  # noqa: S608 - numbers


def _part(
    kind: str,
    columns: Sequence[str],
    options: ReadOptions,
    bounds: tuple[int, int],
    now: datetime,
    *,
    owed: bool,
) -> str:
    """What is owed, or what is finished."""
    wording = WORDINGS[kind]
    said = _said(options, owed=owed)
    chosen = ", ".join(f"{said[name]} AS {{quote}}{name}{{quote}}" for name in columns)
    table, letter = ("rowmq_pending", "p") if owed else ("rowmq_outcomes", "o")
    tables = (
        f"{table} {letter} {{join}} rowmq_messages m ON m.seq = {letter}.seq"
        f" {{join}} rowmq_queues q ON q.id = {letter}.queue"
    )
    if options.table == "failures":
        tables += " {join} rowmq_failures f ON f.seq = m.seq"
    tests = " AND ".join(_tests(options, bounds, now, wording, letter))
    sql = f"SELECT {chosen} FROM {tables} WHERE {tests}"  # noqa: S608 - made of constants, numbers and hex
    return sql.format(quote=wording.quote, join=wording.join, now=micros(now))


def _tests(
    options: ReadOptions, bounds: tuple[int, int], now: datetime, wording: Wording, letter: str
) -> Iterable[str]:
    """The conditions of one part; both tables' seqs are bounded, because not every planner infers one."""
    first, last = bounds
    yield f"{letter}.seq BETWEEN {first:d} AND {last:d} AND m.seq BETWEEN {first:d} AND {last:d}"
    if options.source is not None:
        yield f"q.name = {_literal(options.source, wording)}"
    else:
        yield f"q.name NOT LIKE '{BACKLOG}%'"
    since, until = options.created(now)
    if since is not None:
        yield f"m.created_at >= {micros(since):d}"
    if until is not None:
        yield f"m.created_at < {micros(until):d}"
    states = [state for state in State if (state in FINISHED) == (letter == "o")]
    asked = [state for state in states if state in options.state]
    if asked != states:
        names = ", ".join(f"'{state.value}'" for state in asked)
        yield f"{'o.state' if letter == 'o' else _STATE} IN ({names})"


def _literal(text: str, wording: Wording) -> str:
    return wording.text.format(text.encode().hex())
