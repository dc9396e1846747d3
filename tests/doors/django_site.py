"""A Django site for one test process: settings, and the tasks that its tests enqueue."""

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Any

import django
from django.conf import settings

PLACE = Path(tempfile.mkdtemp(prefix="rowmq-django-"))
atexit.register(shutil.rmtree, PLACE, ignore_errors=True)
BACKEND = "rowmq.doors.django.backend.RowMQBackend"
settings.configure(
    LOGGING_CONFIG=None,
    USE_TZ=True,
    EMAIL_BACKEND="django.core.mail.backends.locmem.EmailBackend",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": PLACE / "site.db"}},
    INSTALLED_APPS=[
        "django.contrib.contenttypes",
        "django.contrib.auth",
        "django_tasks",
        "rowmq.doors.django",
    ],
    TASKS={
        "default": {"BACKEND": BACKEND, "QUEUES": ["default", "emails"], "OPTIONS": {"modules": [__name__]}},
        "elsewhere": {
            "BACKEND": BACKEND,
            "QUEUES": [],
            "OPTIONS": {"url": f"sqlite:///{PLACE}/elsewhere.db", "settings": {"max_attempts": 1}},
        },
        "at_once": {
            "BACKEND": BACKEND,
            "OPTIONS": {"url": f"sqlite:///{PLACE}/elsewhere.db", "enqueue_on_commit": False},
        },
        "immediate": {"BACKEND": "django_tasks.backends.immediate.ImmediateBackend"},
    },
)
django.setup()

from django.core.mail import send_mail  # noqa: E402 - after the set-up
from django_tasks import task  # noqa: E402 - the same

ORDER: list[str] = []


@task
def email_users(emails: list[str], subject: str, message: str) -> int:
    return int(send_mail(subject=subject, message=message, from_email=None, recipient_list=emails))


@task(takes_context=True)
def tell_context(context: Any, word: str) -> list[Any]:
    return [word, context.attempt, context.task_result.id, context.task_result.status]


@task
def note_order(word: str) -> None:
    ORDER.append(word)


@task
async def shout(text: str) -> str:
    return text.upper()


@task(backend="elsewhere")
def fail(message: str) -> None:
    raise django.core.exceptions.SuspiciousOperation(message)


@task(backend="elsewhere")
def return_nonsense() -> object:
    return object()


@task(backend="at_once")
def at_once() -> None: ...
