"""What the server's own settings promise."""

from collections.abc import Mapping

from rowmq.core.errors import InvalidSetting, StoreError, StoreUnavailable
from rowmq.core.history import Durability
from rowmq.stores.redis.server import Server

OLDEST = (7, 0)
_UNKNOWN = Durability(
    "C", "this Redis user may not read appendonly and appendfsync (CONFIG GET), so nothing is promised"
)
_GRADES = {
    "always": Durability("A", "appendfsync=always: every write is on the disk before it is answered"),
    "everysec": Durability("B", "appendfsync=everysec: the last second or two can be lost with the power"),
    "no": Durability("B", "appendfsync=no: the last half minute can be lost with the power"),
}


def durability(server: Server) -> Durability:
    """What an acknowledged write survives."""
    policy = _policy(server)
    if policy != "noeviction":
        return Durability(
            "C", f"maxmemory-policy={policy}: messages may be thrown away to make room for others"
        )
    try:
        found = settings(server, "appendonly", "appendfsync", "no-appendfsync-on-rewrite")
    except StoreUnavailable:
        return _UNKNOWN
    if found.get("appendonly") != "yes":
        return Durability("C", "appendonly=no: whatever came after the last snapshot is lost with the server")
    grade = _GRADES.get(found.get("appendfsync", ""), _UNKNOWN)
    if grade.grade == "A" and found.get("no-appendfsync-on-rewrite") == "yes":
        return Durability(
            "B", "no-appendfsync-on-rewrite=yes: during a rewrite writes are not on the disk yet"
        )
    return grade


def check(server: Server) -> None:
    """Refuse a server that is too old, or that may throw messages away."""
    known = info(server)
    version = tuple(int(part) for part in known.get("redis_version", "0").split(".")[:2])
    if version < OLDEST:
        raise StoreUnavailable(f"Redis {known.get('redis_version')} is too old: RowMQ needs 7.0 or later")
    policy = _policy_in(known)
    if policy != "noeviction" and not server.options.evicting:
        raise InvalidSetting(
            f"this Redis may evict messages (maxmemory-policy {policy}); set it to noeviction, "
            "or accept the loss with eviction=allow in the URL"
        )


def _policy(server: Server) -> str:
    return _policy_in(info(server))


def _policy_in(known: Mapping[str, str]) -> str:
    return known.get("maxmemory_policy", "noeviction")


def info(server: Server) -> dict[str, str]:
    """What the server says of itself and its memory."""
    text: bytes = server.ask("INFO", "server") + server.ask("INFO", "memory")
    lines = (line.partition(":") for line in text.decode().splitlines() if not line.startswith("#"))
    return {name: value for name, _, value in lines}


def settings(server: Server, *names: str) -> Mapping[str, str]:
    """Settings by name. Raises StoreError if the server does not show them."""
    found: dict[str, str] = {}
    for name in names:
        flat = server.ask("CONFIG", "GET", name)
        found |= {flat[0].decode(): flat[1].decode()} if flat else {}
    if not found:
        raise StoreError("this server does not show its settings")
    return found
