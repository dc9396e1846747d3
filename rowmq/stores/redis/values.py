"""What goes into scripts and comes out of them, as values."""

import json
import struct
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache, lru_cache
from typing import Any
from uuid import UUID

from rowmq.core.clock import micros, moment, span
from rowmq.core.delivery import Delivery
from rowmq.core.history import FailedAttempt, LedgerEntry, Record
from rowmq.core.message import Message, dump_metadata
from rowmq.core.outcome import Reason, State

EMPTY: Mapping[str, str] = {}
SAID, DELIVERY, RECORD, FAILURE, ENTRY = 11, 16, 22, 6, 6
"""How many texts each kind of thing is packed of."""
_shared_moment = lru_cache(maxsize=1024)(moment)
"""The messages of one claim end together, and many of them were pushed together."""


def packed(*texts: bytes) -> bytes:
    """Many texts as one: the length of each, then all of them."""
    return _lengths(len(texts)).pack(*map(len, texts)) + b"".join(texts)


def unpacked(blob: bytes, count: int) -> list[bytes]:
    """The texts that :func:`packed` was given."""
    lengths, start, texts = _lengths(count), _lengths(count).size, []
    for length in lengths.unpack_from(blob):
        texts.append(blob[start : start + length])
        start += length
    return texts


def stamp(now: datetime | None) -> str:
    """The moment a caller passed; '' stands for the server's clock."""
    return "" if now is None else str(micros(now))


def seq_text(seq: int) -> str:
    """A seq as keys and sorted sets have it."""
    return f"{seq:016d}"


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


def delivery(blob: bytes) -> Delivery:
    """A leased message."""
    seq, token, queue, id, body, binary, metadata, attempt, most, *rest = unpacked(blob, DELIVERY)
    receives, priority, group, created, deadline, until, source = rest
    return Delivery(
        int(seq),
        token,
        queue.decode(),
        id,
        body,
        bool(binary),
        _metadata(metadata),
        int(attempt),
        int(most) if most else None,
        int(receives),
        int(priority),
        _text(group),
        _shared_moment(int(created)),
        _moment(deadline),
        _shared_moment(int(until)),
        _text(source),
    )


def record(blob: bytes) -> Record:
    """A message in whatever state it is."""
    seq, id, queue, state, body, binary, metadata, priority, group, key, *rest = unpacked(blob, RECORD)
    created, scheduled, deadline, visible, attempts, receives, consumer, started, ended, *last = rest
    reason, source, result = last
    return Record(
        int(seq),
        UUID(bytes=id),
        queue.decode(),
        State(state.decode()),
        _given(body),
        bool(binary),
        _metadata(metadata),
        int(priority),
        _text(group),
        _text(key),
        moment(int(created)),
        _moment(scheduled),
        _moment(deadline),
        _moment(visible),
        int(attempts),
        int(receives),
        _text(consumer),
        _moment(started),
        _moment(ended),
        Reason(reason.decode()) if reason else None,
        _text(source),
        _given(result),
    )


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


def _given(text: bytes) -> bytes | None:
    return text[1:] if text else None
