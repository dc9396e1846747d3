"""A queue's settings as a form: what it says, and what was changed in it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rowmq.core.queue import Queue, Rate, changed
from rowmq.core.spans import written
from rowmq.doors.http.dashboard.form import Form
from rowmq.doors.http.dashboard.reading import noting
from rowmq.doors.http.dashboard.settings_fields import FIELDS, Field

WAS = "was"
"""The hidden field that says what the others said when they were shown."""


def values(queue: Queue) -> dict[str, str]:
    """What each field says of a queue."""
    return {name: _value(_held(queue, field)) for name, field in FIELDS.items()}


def changes(queue: Queue, form: Form) -> dict[str, Any]:
    """The settings that were changed in the form; what is wrong with any of them is noted there.

    What was left as it was shown is not among them, so who changes one setting does not undo what another
    has changed meanwhile.
    """
    read = {}
    for name in _edited(queue, form):
        with noting(form, name):
            read[name] = FIELDS[name].read(form.get(name).strip())
    return _checked(queue, form, read)


def _checked(queue: Queue, form: Form, read: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that the fields are about, each of them checked."""
    waits = {name: value for name, value in read.items() if FIELDS[name].backoff}
    found = {name: value for name, value in read.items() if name not in waits}
    for name, value in found.items():
        with noting(form, name):
            changed(queue, {name: value})
    if waits:
        with noting(form, next(iter(waits))):  # what is wrong with several together stands beside the first
            found["backoff"] = replace(queue.backoff, **waits)
    return found


def _edited(queue: Queue, form: Form) -> list[str]:
    """The fields that say something else than they did when they were shown."""
    shown = _shown(form.get(WAS)) or values(queue)
    return [name for name in FIELDS if name in form and form.get(name).strip() != shown.get(name)]


def _shown(text: str) -> Mapping[str, str] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _held(queue: Queue, field: Field) -> Any:
    return getattr(queue.backoff if field.backoff else queue, field.name)


def _value(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case Rate():
            return f"{value.limit}/{_period(written(value.period))}"
        case Mapping():
            return _tags_text(value)
        case float():
            return f"{value:.12g}"
        case int() | str():
            return str(value)
    return written(value)


def _period(text: str) -> str:
    """One of a unit without the one: 100/s reads better than 100/1s."""
    return text[1:] if text[0] == "1" and text[1:].isalpha() else text


def _tags_text(tags: Mapping[str, str]) -> str:
    if all(_is_plain(key, value) for key, value in tags.items()):
        return "\n".join(f"{key}={value}" for key, value in tags.items())
    return json.dumps(dict(tags), ensure_ascii=False)


def _is_plain(key: str, value: str) -> bool:
    """Whether a tag can be said in a line."""
    line = f"{key}={value}"
    return (
        line.isprintable()
        and [key, value] == [part.strip() for part in line.split("=", 1)]
        and key[:1] not in ("", "{")
    )
