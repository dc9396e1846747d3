"""Messages in bulk, on Spark: read, streamed, written, archived, measured and replayed."""

from importlib import import_module
from typing import Any

from rowmq.pipeline.handlers.handler import handled
from rowmq.pipeline.registration import register
from rowmq.pipeline.session import session

__all__ = [
    "archive",
    "audit",
    "export",
    "handled",
    "load",
    "register",
    "replay",
    "report",
    "session",
    "work",
]
_JOBS = {
    "archive": "lake.archive",
    "audit": "auditing.audit",
    "export": "writing.export",
    "load": "writing.load",
    "replay": "lake.replay",
    "report": "reporting.report",
    "work": "handlers.work",
}
"""Where each job is. They need Spark's packages, so they are loaded when they are asked for."""


def __getattr__(name: str) -> Any:
    if name not in _JOBS:
        raise AttributeError(f"rowmq.pipeline has no {name}")
    return getattr(import_module(f"rowmq.pipeline.{_JOBS[name]}"), name)
