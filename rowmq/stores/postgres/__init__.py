"""The store on PostgreSQL: many processes on many machines."""

from rowmq.stores.postgres.dialect import PostgresDialect

__all__ = ["PostgresDialect"]
