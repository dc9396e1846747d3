"""The Django app: ``manage.py migrate`` makes RowMQ's tables and queues too."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class RowMQConfig(AppConfig):
    """RowMQ as a Django app."""

    name = "rowmq.doors.django"
    label = "rowmq"
    verbose_name = "RowMQ"

    def ready(self) -> None:
        """Listen for migrations."""
        post_migrate.connect(_migrate, sender=self)


def _migrate(using: str, **_: Any) -> None:
    from rowmq.doors.django.backend import RowMQBackend  # noqa: PLC0415 - apps are ready only now
    from rowmq.doors.django.framework import backends  # noqa: PLC0415 - the same

    for backend in backends.all():
        if isinstance(backend, RowMQBackend) and backend.database in {using, None}:
            backend.prepare()
