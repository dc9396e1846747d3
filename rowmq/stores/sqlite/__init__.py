"""The store on SQLite: the embedded default, one file, no server."""

from rowmq.stores.sqlite.dialect import SQLiteDialect

__all__ = ["SQLiteDialect"]
