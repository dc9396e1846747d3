"""Settings: SQLite, mails written to a directory, and tasks on RowMQ in the same database."""

import os
from pathlib import Path

import django

DATA = Path(os.environ.get("EXAMPLE_DATA", Path(__file__).parent.parent))
SECRET_KEY = "an example has no secrets"  # noqa: S105
ALLOWED_HOSTS = ["127.0.0.1", "testserver"]
ROOT_URLCONF = "project.urls"
USE_TZ = True
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": DATA / "db.sqlite3"}}
EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
EMAIL_FILE_PATH = DATA / "mails"
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    *([] if django.VERSION >= (6,) else ["django_tasks"]),
    "rowmq.doors.django",
    "accounts",
]
TASKS = {
    "default": {
        "BACKEND": "rowmq.doors.django.backend.RowMQBackend",
        "QUEUES": ["default", "emails"],
        "OPTIONS": {"settings": {"max_attempts": 3}},
    }
}
