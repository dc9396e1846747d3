"""Where messages are: in one of Django's databases, whose transactions they join, or somewhere else."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from sqlalchemy.engine import URL, make_url

from rowmq.core.errors import SchemaOutdated
from rowmq.runtime.client import Client, connect

KINDS = {"sqlite": "sqlite", "postgresql": "postgresql", "mysql": "mysql"}
"""Django's vendors, by our names."""


def url_of(alias: str) -> URL:
    """The store URL of one of Django's databases."""
    connection = connections[alias]
    if connection.vendor not in KINDS:
        raise ImproperlyConfigured(f"RowMQ has no store for {connection.vendor}: give OPTIONS a url")
    said: Mapping[str, Any] = connection.settings_dict
    if connection.vendor == "sqlite":
        return URL.create("sqlite", database=str(said["NAME"]))
    return URL.create(
        KINDS[connection.vendor],
        username=said["USER"] or None,
        password=said["PASSWORD"] or None,
        host=said["HOST"] or None,
        port=int(said["PORT"]) if said["PORT"] else None,
        database=said["NAME"],
    )


def database_at(url: str) -> str | None:
    """The alias of Django's database that is at this URL, or None."""
    wanted = make_url(url)
    for alias in map(str, connections):
        if connections[alias].vendor in KINDS and _place(url_of(alias)) == _place(wanted):
            return alias
    return None


@lru_cache
def client_at(url: str) -> Client:
    """One client a process for each URL. It makes no tables: that may not happen within a request."""
    try:
        return connect(url, migrate=False)
    except SchemaOutdated:
        raise SchemaOutdated("RowMQ's tables are not up to date; run: manage.py migrate") from None


def _place(url: URL) -> tuple[str, str | None, int | None, str | None]:
    return url.get_backend_name(), url.host or None, url.port, url.database
