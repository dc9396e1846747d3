"""Django's tasks framework: its own since 6.0, the package django-tasks before that; they say the same."""

try:
    from django import tasks as framework
    from django.tasks import base, signals
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.exceptions import TaskResultDoesNotExist
    from django.utils.json import normalize_json
except ImportError:
    import django_tasks as framework
    from django_tasks import base, signals
    from django_tasks.backends.base import BaseTaskBackend
    from django_tasks.exceptions import TaskResultDoesNotExist
    from django_tasks.utils import normalize_json

Task = base.Task
TaskContext = base.TaskContext
TaskError = base.TaskError
TaskResult = base.TaskResult
Status = base.TaskResultStatus
backends = framework.task_backends

__all__ = [
    "BaseTaskBackend",
    "Status",
    "Task",
    "TaskContext",
    "TaskError",
    "TaskResult",
    "TaskResultDoesNotExist",
    "backends",
    "normalize_json",
    "signals",
]
