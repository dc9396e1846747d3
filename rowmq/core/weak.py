"""Settings of databases under which an acknowledged write may be lost."""

from collections.abc import Mapping

SAFE: Mapping[str, frozenset[str]] = {
    "journal_mode": frozenset({"wal", "delete", "truncate", "persist"}),
    "synchronous": frozenset({"2", "3"}),
    "fsync": frozenset({"on"}),
    "full_page_writes": frozenset({"on"}),
    "innodb_doublewrite": frozenset({"1", "on", "2", "fast"}),
    "innodb_flush_log_at_trx_commit": frozenset({"1"}),
    "sync_binlog": frozenset({"1"}),
    "appendonly": frozenset({"yes"}),
    "appendfsync": frozenset({"always"}),
    "no-appendfsync-on-rewrite": frozenset({"no"}),
    "maxmemory-policy": frozenset({"noeviction"}),
}
"""The values that lose nothing, by the databases' own names."""
WEAK: Mapping[str, frozenset[str]] = {"synchronous_commit": frozenset({"off"})}
"""The values that do, where all others are safe."""


def weak_settings(settings: Mapping[str, str]) -> list[str]:
    """The names of those settings that weaken durability, each for itself.

    >>> weak_settings({"fsync": "off", "full_page_writes": "on", "synchronous_commit": "off"})
    ['fsync', 'synchronous_commit']
    """
    # A binary log that is not written need not be on the disk.
    unused = {"sync_binlog"} if settings.get("log_bin") in ("0", "OFF") else set()
    return [name for name, value in settings.items() if name not in unused and _is_weak(name, value.lower())]


def _is_weak(name: str, value: str) -> bool:
    return (name in SAFE and value not in SAFE[name]) or value in WEAK.get(name, frozenset())
