"""Pushing batches, each whole or not at all, many in one transaction."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from uuid import UUID

from rowmq.core.clock import micros, span
from rowmq.core.errors import DuplicateMessage, QueueFull, QueueNotFound, Refused, RowMQError
from rowmq.core.message import Batch, Message, Pushed, collapse
from rowmq.core.outcome import group_of
from rowmq.stores.sql.cursor import Cursor
from rowmq.stores.sql.dialect import Fresh
from rowmq.stores.sql.groups import Places
from rowmq.stores.sql.lookup import queues_by_name
from rowmq.stores.sql.rows import Kept, metadata_text, same_message

Known = dict[int, tuple[UUID, int]]
"""By position: the id and seq of the stored message that this one repeats."""


class Push:
    """One push in one transaction.

    Plain batches go in together. One with keys, groups or a limited queue goes in alone, behind a
    savepoint. The first try trusts that ids are new; only after a collision, or where the caller's
    transaction could not be run again, are they looked up first.
    """

    def __init__(self, cursor: Cursor, now: int | None) -> None:
        self._cursor = cursor
        self._stamp = now
        self._careful = cursor.attempt > 0 or cursor.joined
        self._rows: list[Fresh] = []
        self._rules: dict[int, Callable[[Message], Fresh]] = {}
        self._owners: list[tuple[int, Sequence[Message]]] = []
        self._results: dict[int, Pushed | RowMQError] = {}

    def run(self, batches: Sequence[Batch]) -> list[Pushed | RowMQError]:
        """Push the batches in order, and answer each."""
        queues = queues_by_name(self._cursor, {batch.queue for batch in batches}, self._stamp)
        for number, batch in enumerate(batches):
            kept = queues.get(batch.queue)
            if kept is None:
                self._results[number] = QueueNotFound(batch.queue)
            elif self._careful or not _is_plain(batch, kept):
                self._flush()
                self._results[number] = self.alone(batch, kept)
            else:
                self._rows.extend(map(self._plain(kept), batch.messages))
                self._owners.append((number, batch.messages))
        self._flush()
        return [self._results[number] for number in range(len(batches))]

    def _plain(self, kept: Kept) -> Callable[[Message], Fresh]:
        """How a message without rules becomes a row; found once for all batches of a queue."""
        made = self._rules.get(kept.id)
        if made is None:
            made = self._rules[kept.id] = self._fresh(kept, None)
            self._note(kept)
        return made

    def alone(self, batch: Batch, kept: Kept) -> Pushed | Refused:
        """Push one batch with every rule looked at; a refusal leaves nothing of it."""
        try:
            with self._cursor.savepoint():
                return self._checked(batch, kept)
        except Refused as refusal:
            return refusal

    def keep(self, messages: Sequence[Message], kept: Kept) -> None:
        """Put messages in as they are, without their groups and keys."""
        known = self._repeated(messages, kept) if self._careful else {}
        places = sorted(set(_first_places(messages)) - set(known))
        self._insert([self._fresh(kept, None)(messages[place]) for place in places])

    def _checked(self, batch: Batch, kept: Kept) -> Pushed:
        messages, positions = collapse(batch.messages)
        first = _first_places(messages)
        known = self._repeated(messages, kept) if self._must_look(messages, kept) else {}
        known |= self._deduplicated(messages, kept, known)
        fresh = [messages[place] for place in sorted(set(first)) if place not in known]
        stored = self._store(fresh, kept)
        answers = [known.get(at) or (messages[at].id, stored[messages[at].id]) for at in first]
        return Pushed(
            [answers[place][0] for place in positions],
            [answers[place][1] for place in positions],
            _seen(positions, first, known),
        )

    def _must_look(self, messages: Sequence[Message], kept: Kept) -> bool:
        """Whether a known id must be found before the rules that it would get past."""
        return self._careful or kept.queue.max_length is not None or any(message.key for message in messages)

    def _store(self, fresh: Sequence[Message], kept: Kept) -> dict[UUID, int]:
        if not fresh:
            return {}
        self._check_length(kept, len(fresh))
        groups = {
            name for message in fresh if (name := group_of(message.group, fifo=kept.queue.fifo)) is not None
        }
        rows = list(map(self._fresh(kept, Places(self._cursor, kept.id, groups)), fresh))
        stored = {message.id: seq for message, seq in zip(fresh, self._insert(rows), strict=True)}
        self._remember(fresh, stored, kept)
        self._note(kept)
        return stored

    def _repeated(self, messages: Sequence[Message], kept: Kept) -> Known:
        id_in, id_out = self._cursor.dialect.id_in, self._cursor.dialect.id_out
        rows = self._cursor.all("messages_by_id", ids=[id_in(message.id) for message in messages])
        stored = {id_out(id): (seq, said) for id, seq, *said in rows}
        known: Known = {}
        for place, message in enumerate(messages):
            if message.id in stored:
                seq, said = stored[message.id]
                if not same_message(message, kept.id, tuple(said)):
                    raise DuplicateMessage(f"another message has the id {message.id}")
                known[place] = (message.id, seq)
        return known

    def _deduplicated(self, messages: Sequence[Message], kept: Kept, known: Known) -> Known:
        keys = {
            message.key: place
            for place, message in enumerate(messages)
            if message.key is not None and place not in known
        }
        if not keys:
            return {}
        rows = self._cursor.all("dedup_find", queue=kept.id, keys=sorted(keys), now=kept.now)
        return {keys[key]: (self._cursor.dialect.id_out(id), seq) for key, id, seq in rows}

    def _remember(self, fresh: Sequence[Message], stored: dict[UUID, int], kept: Kept) -> None:
        keyed = sorted((message.key, message) for message in fresh if message.key is not None)
        if not keyed:
            return
        self._cursor.run("dedup_clear", queue=kept.id, keys=[key for key, _ in keyed], now=kept.now)
        id_in = self._cursor.dialect.id_in
        rows = [
            {
                "queue": kept.id,
                "key": key,
                "id": id_in(message.id),
                "seq": stored[message.id],
                "expires_at": kept.now + span(message.window),
            }
            for key, message in keyed
        ]
        self._cursor.many("dedup_put", rows)

    def _check_length(self, kept: Kept, more: int) -> None:
        longest = kept.queue.max_length
        if longest is None or not more:
            return
        self._cursor.all("queue_lock", queue=kept.id)
        row = self._cursor.one("queue_length", queue=kept.id, limit=longest + 1)
        if row is None or row[0] + more > longest:
            raise QueueFull(
                f"queue {kept.queue.name!r} holds at most {longest} messages, and {more} more do not fit"
            )

    def _fresh(self, kept: Kept, places: Places | None) -> Callable[[Message], Fresh]:
        """How a message of this queue becomes a row, its place in its group taken in order."""
        now, queue, delay = kept.now, kept.id, kept.queue.delay
        id_in, fifo = self._cursor.dialect.id_in, kept.queue.fifo

        def row(message: Message) -> Fresh:
            scheduled = _scheduled(message, delay, now)
            time = now if scheduled is None or scheduled < now else scheduled
            group, parked = places.take(group_of(message.group, fifo=fifo)) if places else (None, False)
            return Fresh(
                id_in(message.id),
                queue,
                message.body,
                message.binary,
                metadata_text(message) if message.metadata else None,
                message.priority,
                message.group,
                message.key,
                now,
                scheduled,
                None if message.deadline is None else micros(message.deadline),
                None if parked else time,
                time if parked else None,
                group,
            )

        return row

    def _insert(self, rows: Sequence[Fresh]) -> list[int]:
        return self._cursor.dialect.insert(self._cursor, rows) if rows else []

    def _flush(self) -> None:
        seqs, start = self._insert(self._rows), 0
        for number, messages in self._owners:
            ids = [message.id for message in messages]
            self._results[number] = Pushed(ids, seqs[start : start + len(ids)])
            start += len(ids)
        self._rows, self._owners = [], []

    def _note(self, kept: Kept) -> None:
        self._cursor.pushed.add(kept.id)


def _is_plain(batch: Batch, kept: Kept) -> bool:
    if kept.queue.fifo or kept.queue.max_length is not None:
        return False
    for message in batch.messages:  # noqa: SIM110 - most batches that come together have one message
        if message.key is not None or message.group is not None:
            return False
    return True


def _scheduled(message: Message, delay: timedelta, now: int) -> int | None:
    if message.at is not None:
        return micros(message.at)
    if message.delay is not None:
        return now + span(message.delay)
    return now + span(delay) if delay else None


def _first_places(messages: Sequence[Message]) -> list[int]:
    """For each message the place of the first with its id, which must be the same message."""
    first: dict[UUID, int] = {}
    places = [first.setdefault(message.id, place) for place, message in enumerate(messages)]
    for message, place in zip(messages, places, strict=True):
        if _said(messages[place]) != _said(message):
            raise DuplicateMessage(f"two different messages of one batch have the id {message.id}")
    return places


def _said(message: Message) -> tuple[bytes, bool, dict[str, str]]:
    return message.body, message.binary, dict(message.metadata)


def _seen(positions: Sequence[int], first: Sequence[int], known: Known) -> frozenset[int]:
    """The positions whose message is not stored anew for them."""
    seen, taken = set(), set()
    for position, place in enumerate(positions):
        if first[place] in known or first[place] in taken:
            seen.add(position)
        taken.add(first[place])
    return frozenset(seen)
