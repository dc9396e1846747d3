"""The store behind a server: the same contract over HTTP, so that callers need no database credentials."""

from rowmq.stores.remote.store import RemoteStore

__all__ = ["RemoteStore"]
