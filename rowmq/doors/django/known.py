"""The tasks that may run: those that Django has imported, and no other, whatever a message says."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from django.utils.module_loading import autodiscover_modules

_TASKS: dict[str, Any] = {}


def remember(task: Any) -> None:
    """Know a task that was declared."""
    _TASKS.setdefault(task.module_path, task)


def discover(modules: Sequence[str] = ()) -> dict[str, Any]:
    """Import the ``tasks`` module of every installed app, and those named in settings; all tasks by path."""
    autodiscover_modules("tasks")
    for name in modules:
        import_module(name)
    return dict(_TASKS)


def task_at(path: str) -> Any | None:
    """The task of this path, if it is known; a path is never imported."""
    return _TASKS.get(path)
