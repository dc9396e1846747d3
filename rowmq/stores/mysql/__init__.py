"""The store on MariaDB and MySQL."""

from rowmq.stores.mysql.dialect import MySQLDialect

__all__ = ["MySQLDialect"]
