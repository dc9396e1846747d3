"""Sweeping: what no caller has come to do, in short scripts."""

from collections.abc import Sequence
from datetime import datetime

from rowmq.core.clock import span
from rowmq.core.history import Swept
from rowmq.core.store import CLAIMS_KEPT, IDS_KEPT
from rowmq.stores.redis.queues import erase_dropped
from rowmq.stores.redis.server import Server
from rowmq.stores.redis.values import fields, stamp

LOOK = 1000
"""How many messages one script looks at."""


def sweep(server: Server, limit: int, now: datetime | None) -> Swept:
    """Bury, prune and forget, each up to the limit."""
    names = _dead_letters_first(server.call("queues"))
    buried = pruned = 0
    forgotten, dropped = server.call("sweep_rest", stamp(now), limit, span(CLAIMS_KEPT))
    for name in names:
        buried += _bury(server, name, limit - buried, now)
    for name in names:
        room = limit - pruned, limit - forgotten
        gone, forgot = server.call("sweep_tidy", name, stamp(now), *room, span(IDS_KEPT))
        pruned, forgotten = pruned + gone, forgotten + forgot
    for queue in dropped:
        erase_dropped(server, queue, now)
    return Swept(buried, pruned, forgotten, more=limit in (buried, pruned, forgotten))


def _bury(server: Server, name: str, room: int, now: datetime | None) -> int:
    count = skip = 0
    while count < room:
        buried, skip = server.call("sweep_bury", name, stamp(now), room - count, LOOK, skip)
        count += buried
        if not skip:
            break
    return count


def _dead_letters_first(found: Sequence[Sequence[bytes]]) -> list[str]:
    """Queues in an order in which no message is buried twice in one sweep."""
    targets = {fields(flat)["name"]: letters.decode() for _, letters, flat in found}  # type: ignore[arg-type]

    def depth(name: str) -> int:
        return 1 + depth(targets[name]) if targets.get(name) else 0

    return sorted(targets, key=lambda name: (depth(name), name))
