"""Who is consuming."""

from dataclasses import replace
from datetime import datetime, timedelta

from rowmq.core.clock import moment, span
from rowmq.core.delivery import Membership, check_ttl
from rowmq.core.history import ConsumerInfo
from rowmq.core.names import check_name
from rowmq.stores.memory.role import Role, atomic
from rowmq.stores.memory.row import Lead, Member
from rowmq.stores.memory.tables import Tables


class MemoryConsumers(Role):
    """The consumers of a memory store, in order of birth."""

    @atomic
    def beat(self, queue: str, consumer: str, ttl: timedelta, *, now: datetime | None = None) -> Membership:
        """Register the consumer, or keep it alive, and tell its place; the dead are forgotten."""
        check_name(consumer, "consumer name")
        check_ttl("consumer", ttl)
        self.tables.queue(queue)
        at = self.tables.clock(now)
        _bury_dead(self.tables, queue, at)
        joined = (queue, consumer) not in self.tables.consumers
        born_at = at if joined else self.tables.consumers[queue, consumer].born_at
        self.tables.consumers[queue, consumer] = Member(born_at, at + span(ttl))
        membership = self.tables.membership(queue, consumer, at)
        return replace(membership or Membership(0, 1, joined=joined), joined=joined)

    @atomic
    def retire(self, queue: str, consumer: str) -> bool:
        """Forget the consumer at once; False if it was not registered."""
        return self.tables.consumers.pop((queue, consumer), None) is not None

    @atomic
    def list(self, queue: str | None = None, *, now: datetime | None = None) -> list[ConsumerInfo]:
        """The consumers alive now, by queue and birth."""
        at = self.tables.clock(now)
        infos = [
            ConsumerInfo(of, name, moment(member.born_at), moment(member.alive_until))
            for (of, name), member in self.tables.consumers.items()
            if queue in (None, of) and member.alive_until > at
        ]
        return sorted(infos, key=lambda info: info.queue)

    @atomic
    def lead(self, role: str, consumer: str, ttl: timedelta, *, now: datetime | None = None) -> bool:
        """Take the lead of a role, or keep it, for that long from now; False while another has it."""
        check_name(role, "role")
        check_name(consumer, "consumer name")
        check_ttl("lead", ttl)
        at = self.tables.clock(now)
        lead = self.tables.leads.get(role)
        if lead is not None and lead.holder != consumer and lead.until > at:
            return False
        self.tables.leads[role] = Lead(consumer, at + span(ttl))
        return True


def _bury_dead(tables: Tables, queue: str, now: int) -> None:
    for key, member in list(tables.consumers.items()):
        if key[0] == queue and member.alive_until <= now:
            del tables.consumers[key]
