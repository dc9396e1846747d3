"""The monitor role."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from rowmq.core import monitor
from rowmq.core.clock import moment
from rowmq.core.errors import StoreError
from rowmq.core.look import Spot, gather
from rowmq.core.monitor import (
    LONGEST_EXCERPT,
    LONGEST_REMARK,
    Counts,
    Excerpt,
    Failures,
    Health,
    Place,
    Plan,
    Sample,
    Sheet,
    check_sheet,
    check_span,
)
from rowmq.core.outcome import State, storable
from rowmq.core.where import Where
from rowmq.stores.redis.durability import info, settings
from rowmq.stores.redis.monitor_lists import Failed, Listing, Messages, last_failures
from rowmq.stores.redis.monitor_samples import Sampling, samples
from rowmq.stores.redis.server import Server
from rowmq.stores.redis.values import SEQ_DIGITS, failure, records, seq_text, stamp

SETTINGS = ("appendonly", "appendfsync", "no-appendfsync-on-rewrite", "maxmemory-policy")


class RedisMonitor:
    """The monitor of a Redis store, whose sorted sets know how many they hold without counting."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def counts(self, queues: Sequence[str], *, now: datetime | None = None) -> dict[str, Counts]:
        """How these queues stand; one that does not exist is left out."""
        found = self._server.call("counts", stamp(now), *queues) if queues else []
        return {name.decode(): _counts(*rest) for name, *rest in found}

    def page(
        self,
        queue: str,
        state: State,
        *,
        where: Where = (),
        since: datetime | None = None,
        until: datetime | None = None,
        place: Place | None = None,
        limit: int = 50,
        now: datetime | None = None,
    ) -> Sheet:
        """Messages of a queue in a state, what is finished newest first, what is owed in claim order."""
        check_sheet(limit)
        listing = Messages(self._server, queue, state, where, (since, until), now or self._now())
        wrong = last_failures if state == State.DEAD else None
        return self._sheet(listing, place, limit, now, wrong)

    def failed(
        self,
        queue: str,
        text: str,
        *,
        place: Place | None = None,
        limit: int = 50,
        now: datetime | None = None,
    ) -> Sheet:
        """Messages that failed in a queue with this text in an error, newest failure first, each once."""
        check_sheet(limit)
        listing = Failed(self._server, queue, storable(text) or "", place, limit)
        return self._sheet(listing, place, limit, now, listing.failures)

    def failures(self, seq: int, *, limit: int = 100, longest: int = 20_000) -> Failures:
        """The last failed attempts of a message, and how many there are."""
        count, found = self._server.call("failures_last", seq_text(seq), limit, longest)
        last = [_excerpt(*each) for each in found]
        return Failures(last, min(count, monitor.MOST_LOOKED))

    def plans(self, *, queue: str | None = None) -> list[Plan]:
        """Schedules by name, of a queue or all."""
        found = self._server.call("plans", queue or "", LONGEST_EXCERPT)
        return sorted(_plan(*each) for each in found)[: monitor.MOST_SCHEDULES] if queue != "" else []

    def sample(self, *, now: datetime | None = None) -> int:
        """Take the samples of the minutes that are over since the last, and forget old ones; how many."""
        sampling = Sampling(self._server, now)
        return sampling.keep(self.counts(sampling.queues, now=now)) if sampling.minutes else 0

    def samples(
        self,
        span: timedelta,
        since: datetime,
        *,
        queue: str | None = None,
        now: datetime | None = None,  # noqa: ARG002 - what is kept is kept
    ) -> list[Sample]:
        """Samples of a span that begin at ``since`` or later, oldest first."""
        check_span(span)
        return [] if queue == "" else samples(self._server, span, since, queue)

    def health(self) -> Health:
        """How the server is; the memory is that of everything in it."""
        known = info(self._server)
        layout: bytes = self._server.call("layout_noted")
        try:
            found = dict(settings(self._server, *SETTINGS))
        except StoreError:  # this user may not read them
            found = {"maxmemory-policy": known.get("maxmemory_policy", "")}
        version, size = known.get("redis_version", ""), int(known.get("used_memory", "0"))
        return Health(f"Redis {version}", f"layout {layout.decode()}", size, {}, found)

    def _now(self) -> datetime:
        return moment(int(self._server.call("now")))

    def _sheet(
        self,
        listing: Listing,
        place: Place | None,
        limit: int,
        now: datetime | None,
        wrong: Callable[[Sequence[Spot]], list[tuple[int, int]]] | None,
    ) -> Sheet:
        spots, more = gather(listing.look, listing.choose, place, limit)
        seqs = [seq_text(spot.seq) for spot in spots]
        at, found = self._server.call("records", stamp(now), LONGEST_EXCERPT, *seqs)
        shown = records(found, [None] * (len(found[0]) // SEQ_DIGITS), int(at))
        return Sheet(shown, more, self._excerpts(wrong(spots) if wrong else []))

    def _excerpts(self, chosen: list[tuple[int, int]]) -> dict[int, Excerpt]:
        """Failures by the seqs of their messages."""
        given = [each for seq, index in chosen for each in (seq_text(seq), index)]
        found = self._server.call("failures_shown", LONGEST_REMARK, *given) if given else []
        return {int(seq): _excerpt(*rest) for seq, *rest in found}


def _excerpt(blob: bytes, size: int, is_cut: int) -> Excerpt:
    return Excerpt(failure(blob), size, is_cut=bool(is_cut))


def _plan(
    name: bytes, queue: bytes, spec: bytes, at: bytes, paused: bytes, body: bytes, binary: bytes, size: int
) -> Plan:
    when = moment(int(at))
    return Plan(name.decode(), queue.decode(), spec.decode(), when, bool(paused), body, bool(binary), size)


def _counts(ready: int, scheduled: int, leased: int, _done: int, dead: int, age: bytes) -> Counts:
    most = monitor.MOST_COUNTED
    counted = [min(count, most) for count in (ready, scheduled, leased, dead)]
    oldest = timedelta(microseconds=int(age)) if age else None
    return Counts._make([*counted, oldest, most in counted])
