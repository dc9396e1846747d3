"""The stores, and the one function that opens them: a URL is enough."""

from rowmq.stores.opening import open_store

__all__ = ["open_store"]
