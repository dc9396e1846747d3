"""The store in memory: the specification one can run, and the test double of those who use RowMQ."""

from rowmq.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
