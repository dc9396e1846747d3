"""Django's tasks on RowMQ."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from django.contrib.auth import get_user_model
from django.core import mail
from django.core.exceptions import ImproperlyConfigured, SuspiciousOperation
from django.core.management import CommandError, call_command
from django.db import connections, transaction
from django.utils import timezone
from django_tasks import TaskResultStatus, signals, task_backends
from django_tasks.exceptions import TaskResultDoesNotExist, TaskResultMismatch

from rowmq import SchemaOutdated, connect
from rowmq.doors.django.backend import RowMQBackend
from rowmq.doors.django.places import client_at
from rowmq.doors.django.priority import as_ours
from tests.doors import django_site as site
from tests.servers import free_port

PROJECT = Path(__file__).parent.parent.parent / "examples" / "django_project"


@pytest.fixture(scope="module", autouse=True)
def _migrated() -> Iterator[None]:
    call_command("migrate", verbosity=0)
    yield
    for alias in ("default", "elsewhere"):
        task_backends[alias].client.close()
    client_at.cache_clear()
    connections.close_all()


@pytest.fixture(autouse=True)
def _empty() -> None:
    site.ORDER.clear()
    mail.outbox = []
    for alias in ("default", "elsewhere"):
        client = task_backends[alias].client
        for queue in client.queues():
            client.queue(queue.name).purge()


def work(backend: str = "default", **options: Any) -> None:
    call_command("rowmq_worker", backend=backend, stop_when_empty=True, stdout=StringIO(), **options)


def test_the_example_of_djangos_documentation_works() -> None:
    result = site.email_users.enqueue(emails=["ada@example.com"], subject="Welcome", message="hello")
    assert (result.status, result.attempts) == (TaskResultStatus.READY, 0)
    work()
    result.refresh()
    assert (result.status, result.return_value, result.attempts) == (TaskResultStatus.SUCCESSFUL, 1, 1)
    assert [sent.to for sent in mail.outbox] == [["ada@example.com"]]
    assert result.enqueued_at <= result.started_at <= result.finished_at


def test_what_is_enqueued_in_a_transaction_is_there_if_it_commits() -> None:
    with transaction.atomic():
        get_user_model().objects.create_user(f"ada-{uuid4()}")
        kept = site.note_order.enqueue("kept")
        with pytest.raises(TaskResultDoesNotExist):
            site.note_order.get_result(kept.id)
    with transaction.atomic():
        get_user_model().objects.create_user(f"bob-{uuid4()}")
        dropped = site.note_order.enqueue("dropped")
        transaction.set_rollback(True)
    assert site.note_order.get_result(kept.id).status == TaskResultStatus.READY
    with pytest.raises(TaskResultDoesNotExist):
        site.note_order.get_result(dropped.id)
    work()
    assert site.ORDER == ["kept"]


def test_a_savepoint_that_is_rolled_back_takes_its_tasks_with_it() -> None:
    with transaction.atomic():
        site.note_order.enqueue("outer")
        with transaction.atomic():
            site.note_order.enqueue("inner")
            transaction.set_rollback(True)
    work()
    assert site.ORDER == ["outer"]


def test_in_another_database_it_is_pushed_once_the_transaction_has_committed() -> None:
    stats = task_backends["elsewhere"].client.queue("default").stats
    with transaction.atomic():
        site.fail.enqueue("later")
        assert stats().ready == 0
    assert stats().ready == 1
    with transaction.atomic():
        site.fail.enqueue("never")
        transaction.set_rollback(True)
    assert stats().ready == 1


def test_it_can_be_told_not_to_wait_for_the_commit() -> None:
    with transaction.atomic():
        result = site.at_once.enqueue()
        assert site.at_once.get_result(result.id).status == TaskResultStatus.READY


def test_higher_priorities_run_first() -> None:
    for priority in (-100, 0, 100, 1, -1):
        site.note_order.using(priority=priority).enqueue(str(priority))
    work(concurrency=1)
    assert site.ORDER == ["100", "1", "0", "-1", "-100"]


def test_priorities_keep_their_order_and_their_side_of_zero() -> None:
    mapped = [as_ours(priority) for priority in range(-100, 101)]
    assert mapped == sorted(mapped)
    assert (mapped[0], mapped[99], mapped[100], mapped[101], mapped[-1]) == (0, 3, 4, 5, 9)
    assert set(mapped) == set(range(10))


def test_a_task_waits_for_its_time_and_keeps_what_it_was_enqueued_with() -> None:
    later = timezone.now() + timedelta(hours=1)
    result = site.note_order.using(run_after=later, priority=7, queue_name="emails").enqueue("later")
    work()
    assert site.ORDER == []
    found = site.note_order.get_result(result.id)
    assert found.status == TaskResultStatus.READY
    assert (found.task.run_after, found.task.priority, found.task.queue_name) == (later, 7, "emails")


def test_a_task_may_know_its_context() -> None:
    result = site.tell_context.enqueue("word")
    work()
    result.refresh()
    assert result.return_value == ["word", 1, result.id, "RUNNING"]


def test_async_tasks_run_and_async_code_enqueues() -> None:
    async def story() -> str:
        result = await site.shout.aenqueue("hello")
        await asyncio.to_thread(work)
        await result.arefresh()
        return str(result.return_value)

    assert asyncio.run(story()) == "HELLO"


def test_a_failure_is_kept_with_its_class_and_traceback() -> None:
    forged = "look\nTraceback (most recent call last):\nos.system: x\n[exception class: os.system]"
    result = site.fail.enqueue(forged)
    work("elsewhere")
    result.refresh()
    assert result.status == TaskResultStatus.FAILED
    (error,) = result.errors
    assert error.exception_class is SuspiciousOperation
    assert "in fail" in error.traceback
    with pytest.raises(ValueError, match="Task failed"):
        _ = result.return_value


def test_a_return_value_that_is_not_json_is_a_failure() -> None:
    result = site.return_nonsense.enqueue()
    work("elsewhere")
    result.refresh()
    assert (result.status, result.errors[0].exception_class) == (TaskResultStatus.FAILED, TypeError)


def test_a_failure_is_retried_as_the_queue_says() -> None:
    backend = task_backends["default"]
    backend.client.queue("default", max_attempts=2, backoff={"first": 0, "jitter": 0})
    result = site.note_order.enqueue()  # it lacks its argument
    work()
    result.refresh()
    assert (result.status, result.attempts, len(result.errors)) == (TaskResultStatus.FAILED, 2, 2)
    assert {error.exception_class for error in result.errors} == {TypeError}


def test_a_path_in_a_message_is_never_imported() -> None:
    client = task_backends["default"].client
    payload = {"args": ["touch me"], "kwargs": {}}
    ids = [
        client.push("default", payload, metadata={"rowmq.task": "antigravity.fly"}),
        client.push("default", payload),
    ]
    work()
    reasons = [record.reason for id in ids if (record := client.get(id))]
    assert reasons == ["invalid", "invalid"]
    assert "antigravity" not in sys.modules
    with pytest.raises(TaskResultDoesNotExist):
        task_backends["default"].get_result(str(ids[0]))


def test_a_message_with_other_than_arguments_is_invalid() -> None:
    client = task_backends["default"].client
    id = client.push("default", "nonsense", metadata={"rowmq.task": site.shout.module_path})
    work()
    record = client.get(id)
    assert record is not None
    assert record.reason == "invalid"


def test_results_that_are_not_there_are_told_apart() -> None:
    for unknown in (str(uuid4()), "not an id"):
        with pytest.raises(TaskResultDoesNotExist):
            site.shout.get_result(unknown)
    result = site.shout.enqueue("hello")
    with pytest.raises(TaskResultMismatch):
        site.note_order.get_result(result.id)


def test_djangos_signals_are_sent() -> None:
    heard: list[tuple[str, str]] = []
    names = ("task_enqueued", "task_started", "task_finished")
    ears = {
        name: lambda task_result, name=name, **_: heard.append((name, task_result.status)) for name in names
    }
    for name, ear in ears.items():
        getattr(signals, name).connect(ear)
    site.note_order.enqueue("heard")
    work()
    site.fail.enqueue("heard too")
    work("elsewhere")
    for name, ear in ears.items():
        getattr(signals, name).disconnect(ear)
    assert heard == [
        ("task_enqueued", "READY"),
        ("task_started", "RUNNING"),
        ("task_finished", "SUCCESSFUL"),
        ("task_enqueued", "READY"),
        ("task_started", "RUNNING"),
        ("task_finished", "FAILED"),
    ]


def test_an_option_that_is_not_one_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="there is no option uri; RowMQ has database"):
        RowMQBackend("default", {"OPTIONS": {"uri": "sqlite://"}})


def test_the_worker_is_only_for_backends_of_ours() -> None:
    with pytest.raises(CommandError, match="the backend 'immediate' of TASKS is not RowMQ's"):
        work("immediate")


def test_tables_that_are_missing_are_told_with_what_to_do(tmp_path: Path) -> None:
    backend = RowMQBackend("new", {"OPTIONS": {"url": f"sqlite:///{tmp_path}/new.db"}})
    with pytest.raises(SchemaOutdated, match=r"run: manage\.py migrate"):
        _ = backend.client
    backend.prepare()
    assert [queue.name for queue in backend.client.queues()] == ["default"]
    backend.client.close()


@contextmanager
def serving(environment: dict[str, str]) -> Iterator[str]:
    """The example's development server, until the block ends."""
    address = f"127.0.0.1:{free_port()}"
    command = [sys.executable, "manage.py", "runserver", "--noreload", address]
    with subprocess.Popen(command, cwd=PROJECT, env=environment, stderr=subprocess.DEVNULL) as server:
        try:
            yield f"http://{address}"
        finally:
            server.terminate()


def posted(url: str, **form: str) -> httpx.Response:
    """The answer of a server that may still be starting."""
    for _ in range(200):
        try:
            return httpx.post(url, data=form)
        except httpx.ConnectError:
            time.sleep(0.1)
    raise AssertionError("the server does not start")


def test_the_example_project_runs_as_it_stands(tmp_path: Path) -> None:
    environment = {**os.environ, "EXAMPLE_DATA": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("DJANGO_SETTINGS_MODULE", None)

    def manage(*words: str) -> str:
        command = [sys.executable, "manage.py", *words]
        ran = subprocess.run(
            command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    manage("migrate")
    with serving(environment) as url:
        welcome = posted(f"{url}/signup", email="ada@example.com")
        assert welcome.status_code == 201
        assert posted(f"{url}/signup", email="eve@elsewhere.org").status_code == 400
        page = f"{url}/results/{welcome.json()['mail']}"
        assert httpx.get(page).json() == {"status": "READY", "attempts": 0, "sent": None}
        assert manage("rowmq_worker", "--stop-when-empty") == "working on default, emails\n"
        assert httpx.get(page).json() == {"status": "SUCCESSFUL", "attempts": 1, "sent": 1}
    (sent,) = (tmp_path / "mails").iterdir()
    assert "To: ada@example.com" in sent.read_text()
    with connect(f"sqlite:///{tmp_path}/db.sqlite3", migrate=False) as mq:
        assert mq.queue("emails").stats().done == 1


IN_A_SERVER = """
import sys
import django
from django.conf import settings
from sqlalchemy.engine import make_url

url = make_url(sys.argv[1])
settings.configure(
    USE_TZ=True,
    DATABASES={"default": {
        "ENGINE": f"django.db.backends.{url.get_backend_name()}", "NAME": url.database, "USER": url.username,
        "PASSWORD": url.password, "HOST": url.host, "PORT": url.port, "OPTIONS": dict(url.query),
    }},
    INSTALLED_APPS=["django_tasks", "rowmq.doors.django"],
    TASKS={"default": {
        "BACKEND": "rowmq.doors.django.backend.RowMQBackend", "OPTIONS": {"url": sys.argv[1]},
    }},
)
django.setup()

from django.core.management import call_command
from django.db import transaction
from django_tasks import task, task_backends

@task
def double(number):
    return 2 * number

call_command("migrate", verbosity=0)
with transaction.atomic():
    kept = double.enqueue(21)
with transaction.atomic():
    dropped = double.enqueue(1)
    transaction.set_rollback(True)
call_command("rowmq_worker", stop_when_empty=True, verbosity=0)
client = task_backends["default"].client
print(task_backends["default"].database, client.get(dropped.id), double.get_result(kept.id).return_value)
"""


def test_it_joins_the_transactions_of_a_server_too(postgres_url: str) -> None:
    command = [sys.executable, "-c", IN_A_SERVER, postgres_url]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ran.stdout.splitlines()[-1:] == ["default None 42"], ran.stderr
