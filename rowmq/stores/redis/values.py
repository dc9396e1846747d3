"""What goes into scripts and comes out of them, as values."""

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple
from uuid import UUID

from rowmq.core.clock import micros, moment, span
from rowmq.core.delivery import Delivery
from rowmq.core.history import FailedAttempt, LedgerEntry, Record
from rowmq.core.message import Message, dump_metadata
from rowmq.core.outcome import Reason, State

EMPTY: Mapping[str, str] = {}
SAID, FAILURE, ENTRY = 11, 6, 6
"""How many texts each kind of thing is packed of."""
SEQ_DIGITS = 16
NONE = 1e300
"""A time that is not there."""
_ROW = struct.Struct(">6d2I4B11H")
_HELD = struct.Struct(">d16xd16x2I4x11H")
"""Of a row, what a delivery tells: born and at, tries and gets, and the lengths of its texts."""
_SAID = struct.Struct(f">{SAID}I")
_shared_moment = lru_cache(maxsize=1024)(moment)
"""The messages of one claim end together, and many were pushed together. A float that is whole is as good."""


def packed(*texts: bytes) -> bytes:
    """Many texts as one: the length of each, then all of them."""
    return _lengths(len(texts)).pack(*map(len, texts)) + b"".join(texts)


def cut(text: bytes, size: int) -> list[bytes]:
    """A text in pieces of one size."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def unpacked(blob: bytes, count: int, begin: int = 0) -> list[bytes]:
    """The texts that :func:`packed` was given, from a place on."""
    lengths, texts = _lengths(count), []
    start = begin + lengths.size
    for length in lengths.unpack_from(blob, begin):
        texts.append(blob[start : start + length])
        start += length
    return texts


def stamp(now: datetime | None) -> str:
    """The moment a caller passed; '' stands for the server's clock."""
    return "" if now is None else str(micros(now))


def seq_text(seq: int) -> str:
    """A seq as keys and sorted sets have it."""
    return f"{seq:0{SEQ_DIGITS}d}"


def optional(text: bytes | None) -> bytes:
    """A text that may be missing, which is not the same as empty."""
    return b"" if text is None else b"=" + text


def said(message: Message) -> bytes:
    """A message as scripts read it."""
    return packed(
        message.id.bytes,
        message.body,
        b"1" if message.binary else b"",
        (dump_metadata(message.metadata) or "").encode(),
        str(message.priority).encode(),
        (message.group or "").encode(),
        (message.key or "").encode(),
        str(span(message.window)).encode(),
        b"" if message.at is None else str(micros(message.at)).encode(),
        b"" if message.delay is None else str(span(message.delay)).encode(),
        b"" if message.deadline is None else str(micros(message.deadline)).encode(),
    )


def message(blob: bytes) -> Message:
    """The message that :func:`said` was given."""
    id, body, binary, metadata, priority, group, key, window, at, delay, deadline = unpacked(blob, SAID)
    return Message(
        id=UUID(bytes=id),
        body=body,
        binary=bool(binary),
        metadata=_metadata(metadata),
        priority=int(priority),
        group=_text(group),
        key=_text(key),
        window=timedelta(microseconds=int(window)),
        at=_moment(at),
        delay=timedelta(microseconds=int(delay)) if delay else None,
        deadline=_moment(deadline),
    )


class Row(NamedTuple):
    """Where a message is in its life, as ``shared/writing.lua`` packs it."""

    born: int
    sched: int | None
    deadline: int | None
    at: int | None
    since: int | None
    ended: int | None
    tries: int
    gets: int
    queue: bytes
    token: bytes
    consumer: bytes
    source: bytes
    reason: bytes
    state: bytes
    gone: bool
    end: int
    """Where what was said begins."""


def row(blob: bytes, begin: int = 0) -> Row:
    """A row as it is kept, from a place on."""
    kept = _ROW.unpack_from(blob, begin)
    born, sched, deadline, at, since, ended = (None if each == NONE else int(each) for each in kept[:6])
    ends = list(accumulate(kept[12:], initial=begin + _ROW.size))
    _, _, _, queue, token, by, src, why, _, _, state = (blob[each[0] : each[1]] for each in pairwise(ends))
    return Row(
        born or 0,
        sched,
        deadline,
        at,
        since,
        ended,
        kept[6],
        kept[7],
        queue,
        token,
        by,
        src,
        why,
        state,
        bool(kept[11]),
        ends[-1],
    )


def deliveries(shown: Any) -> list[Delivery]:
    """Leased messages."""
    seqs, sheaves, queues = shown
    known = _known(queues)
    numbers = map(int, cut(seqs, SEQ_DIGITS))
    found: list[Delivery] = []
    for sheaf in sheaves:
        begin, end = 0, len(sheaf)
        while begin < end:
            delivery, begin = _delivery(next(numbers), sheaf, begin, known)
            found.append(delivery)
    return found


def deliveries_of(shown: Any, saids: Sequence[bytes | None]) -> list[Delivery]:
    """Leased messages that are shown without what they say, which is given here; without those of None."""
    seqs, sheaves, queues = shown
    known = _known(queues)
    columns = zip(cut(seqs, SEQ_DIGITS), _cut_rows(sheaves), saids, strict=True)
    return [_delivery(int(seq), held + said, 0, known)[0] for seq, held, said in columns if said is not None]


def _known(queues: Any) -> dict[bytes, tuple[str, int | None]]:
    return {id: (name.decode(), int(most) if most else None) for id, name, most in queues}


def _cut_rows(sheaves: Sequence[bytes]) -> Iterator[bytes]:
    """Every row in the texts that hold many, and nothing else."""
    for sheaf in sheaves:
        begin = 0
        while begin < len(sheaf):
            end = begin + _HELD.size + sum(_HELD.unpack_from(sheaf, begin)[4:])
            yield sheaf[begin:end]
            begin = end


def _delivery(
    seq: int, sheaf: bytes, begin: int, queues: Mapping[bytes, tuple[str, int | None]]
) -> tuple[Delivery, int]:
    """The one that begins at a place, and where the next one does.

    Not by way of :func:`row`, because making values is most of a claim's own time.
    """
    born, at, tries, gets, *texts = _HELD.unpack_from(sheaf, begin)
    queue = begin + _HELD.size + texts[0] + texts[1] + texts[2]
    token = queue + texts[3]
    consumer = token + texts[4]
    source = consumer + texts[5]
    said = begin + _HELD.size + sum(texts)
    lengths = _SAID.unpack_from(sheaf, said)
    id = said + _SAID.size
    body = id + lengths[0]
    binary = body + lengths[1]
    metadata = binary + lengths[2]
    priority = metadata + lengths[3]
    group = priority + lengths[4]
    end = id + sum(lengths)
    name, most = queues[sheaf[queue:token]]
    return Delivery(
        seq,
        sheaf[token:consumer],
        name,
        sheaf[id:body],
        sheaf[body:binary],
        bool(lengths[2]),
        json.loads(sheaf[metadata:priority]) if lengths[3] else EMPTY,
        tries,
        most,
        gets,
        int(sheaf[priority:group]),
        sheaf[group : group + lengths[5]].decode() if lengths[5] else None,
        _shared_moment(born),
        _moment(sheaf[end - lengths[10] : end]) if lengths[10] else None,
        _shared_moment(at),
        sheaf[source : source + texts[6]].decode() if texts[6] else None,
    ), end


def records(shown: Any, results: Sequence[bytes | None], now: int) -> list[Record]:
    """Messages in whatever state they are then."""
    seqs, sheaves, queues = shown
    names = {id: name.decode() for id, name, _ in queues}
    columns = zip(cut(seqs, SEQ_DIGITS), _cut_sheaves(sheaves), results, strict=True)
    return [_record(int(seq), blob, names, result, now) for seq, blob, result in columns]


def _cut_sheaves(sheaves: Sequence[bytes]) -> Iterator[bytes]:
    """Every message in the texts that hold many."""
    for sheaf in sheaves:
        begin = 0
        while begin < len(sheaf):
            said = row(sheaf, begin).end
            end = said + _SAID.size + sum(_SAID.unpack_from(sheaf, said))
            yield sheaf[begin:end]
            begin = end


def _record(seq: int, blob: bytes, names: Mapping[bytes, str], result: bytes | None, now: int) -> Record:
    life = row(blob)
    id, body, binary, metadata, priority, group, key, *_, deadline = unpacked(blob, SAID, life.end)
    return Record(
        seq,
        UUID(bytes=id),
        names[life.queue],
        _state(life, now),
        None if life.gone else body,
        bool(binary),
        _metadata(metadata),
        int(priority),
        _text(group),
        _text(key),
        moment(life.born),
        _time(life.sched),
        _moment(deadline),
        _time(life.at),
        life.tries,
        life.gets,
        _text(life.consumer),
        _time(life.since),
        _time(life.ended),
        Reason(life.reason.decode()) if life.reason else None,
        _text(life.source),
        result,
    )


def _state(life: Row, now: int) -> State:
    if life.at is None:
        return State(life.state.decode())
    if life.at <= now:
        return State.READY
    return State.LEASED if life.token else State.SCHEDULED


def failure(blob: bytes) -> FailedAttempt:
    """A failed attempt."""
    attempt, queue, consumer, started, ended, error = unpacked(blob, FAILURE)
    return FailedAttempt(
        int(attempt),
        queue.decode(),
        _text(consumer),
        _moment(started),
        moment(int(ended)),
        error.decode(),
    )


def entry(blob: bytes) -> LedgerEntry:
    """A line of the ledger."""
    at, queue, action, count, first, last = unpacked(blob, ENTRY)
    return LedgerEntry(moment(int(at)), queue.decode(), action.decode(), int(count), int(first), int(last))


def fields(flat: Sequence[bytes]) -> dict[str, str]:
    """Fields and values of a hash, one after another, as a mapping."""
    texts = [each.decode() for each in flat]
    return dict(zip(texts[::2], texts[1::2], strict=True))


@cache
def _lengths(count: int) -> struct.Struct:
    return struct.Struct(f">{count}I")


def _metadata(text: bytes) -> Mapping[str, str]:
    found: Any = json.loads(text) if text else EMPTY
    return found  # type: ignore[no-any-return] # what dump_metadata wrote


def _moment(text: bytes) -> datetime | None:
    return _shared_moment(int(text)) if text else None


def _text(text: bytes) -> str | None:
    return text.decode() if text else None


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else _shared_moment(micros)
