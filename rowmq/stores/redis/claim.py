"""Claiming: wants as the script takes them, and where bounded searches go on."""

import json
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rowmq.core.clock import micros, span
from rowmq.core.delivery import Delivery, Want
from rowmq.core.errors import OutcomeUnknown, QueueNotFound, StoreUnavailable
from rowmq.core.message import HIGHEST_PRIORITY
from rowmq.stores.recent import Recent
from rowmq.stores.redis.server import Argument, Server
from rowmq.stores.redis.values import SEQ_DIGITS, cut, deliveries, deliveries_of, stamp

TOKEN_BYTES = 16
TOGETHER = 100
"""Long messages that are read with one command."""
BEGINNING = (HIGHEST_PRIORITY, 0)
Place = tuple[int, int]
"""A priority, and how many messages of it to pass by."""


class Claims:
    """Claims, and remembers where each search with conditions stopped."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._stopped: Recent[tuple[object, ...], Place] = Recent()

    def claim(self, queue: str, wants: Sequence[Want], now: datetime | None) -> list[list[Delivery]]:
        """Lease messages to each want; again, if all that was found so far was overdue."""
        while True:
            answers = self._server.call("claim", *self._given(queue, wants, now))
            if answers is None:
                raise QueueNotFound(queue)
            results = [self._result(queue, *each) for each in zip(wants, answers, strict=True)]
            unfinished = any(more for _, _, more, _ in answers)
            if any(results) or not unfinished or any(want.name and not want.again for want in wants):
                return results

    def _given(self, queue: str, wants: Sequence[Want], now: datetime | None) -> list[Argument]:
        given: list[Argument] = [queue, stamp(now)]
        for want in wants:
            given += _arguments(want)
            given += self._stopped.pop(_search(queue, want), BEGINNING)
        return given

    def _result(self, queue: str, want: Want, answer: Any) -> list[Delivery]:
        shown, stopped, _, lengths = answer
        if stopped:
            self._stopped.note(_search(queue, want), (stopped[0], stopped[1]))
        return self._long(shown, list(map(int, lengths.split()))) if lengths else deliveries(shown)

    def _long(self, shown: Any, lengths: Sequence[int]) -> list[Delivery]:
        """Messages that are shown without what they say, which is read now.

        One whose bytes are not what they were is no longer ours: its lease has run out meanwhile, and it was
        finished by another holder.
        """
        try:
            saids = self._said(cut(shown[0], SEQ_DIGITS))
        except StoreUnavailable as error:
            raise OutcomeUnknown(f"messages were claimed, and could not be read: {error}") from error
        read = zip(saids, lengths, strict=True)
        return deliveries_of(shown, [said if said and len(said) == size else None for said, size in read])

    def _said(self, seqs: Sequence[bytes]) -> list[bytes | None]:
        keys = [self._server.root + b"m:" + seq for seq in seqs]
        parts = (keys[start : start + TOGETHER] for start in range(0, len(keys), TOGETHER))
        return [said for part in parts for said in self._server.ask("MGET", *part)]


def _search(queue: str, want: Want) -> tuple[object, ...]:
    return queue, want.where, want.max_age, want.upto, want.since, want.until


def _arguments(want: Want) -> list[Argument]:
    conditions = [[each.key, each.operator, list(each.values)] for each in want.where]
    return [
        want.limit,
        "" if want.lease is None else span(want.lease),
        want.consumer or "",
        want.sharer or "",
        json.dumps(conditions, ensure_ascii=False, separators=(",", ":")),
        "" if want.max_age is None else span(want.max_age),
        want.per_group,
        want.behind,
        want.name or "",
        int(want.again),
        "" if want.upto is None else want.upto,
        "" if want.since is None else micros(want.since),
        "" if want.until is None else micros(want.until),
        secrets.token_bytes(TOKEN_BYTES),
    ]
