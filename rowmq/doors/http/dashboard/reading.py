"""What people write into forms and searches, read; what cannot be is noted beside its field."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from rowmq.core.errors import InvalidSetting
from rowmq.core.outcome import State
from rowmq.core.spans import span_of
from rowmq.core.where import Condition, Where, condition_of
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard.board import told
from rowmq.doors.http.dashboard.form import Form

LARGEST_LIMIT = 2**31 - 1


@contextmanager
def noting(form: Form, name: str) -> Iterator[None]:
    """Have what is wrong noted beside a field."""
    try:
        yield
    except ValueError as error:  # InvalidInput is one, and so is what an enumeration says
        form.wrong[name] = str(error)


async def now_of(call: Call) -> datetime:
    """What the store's clock says, or has said already for this request."""
    known = call.now or told(call.request)
    return await call.run(call.broker.store.now) if known is None else known


def state_in(form: Form, name: str) -> State | None:
    """A state that was chosen, or none."""
    said = form.get(name)
    if said and said not in list(State):
        form.wrong[name] = f"a state is one of {', '.join(State)}, not {said!r}"
        return None
    return State(said) if said else None


def whole_in(form: Form, name: str) -> int | None:
    """A whole number, or none."""
    said = form.get(name).strip()
    if not said:
        return None
    if (
        said.isascii()
        and said.isdigit()
        and len(said) <= len(str(LARGEST_LIMIT))
        and 0 < int(said) <= LARGEST_LIMIT
    ):
        return int(said)
    form.wrong[name] = f"{said!r} is not a whole number from 1 to {LARGEST_LIMIT}; leave it empty for all"
    return None


def moment_in(form: Form, name: str, now: datetime) -> datetime | None:
    """A moment, or none: a time, in UTC unless it says otherwise, or how long ago."""
    said = form.get(name).strip()
    try:
        return _moment(said, now) if said else None
    except (ValueError, OverflowError):
        form.wrong[name] = f"{said!r} is not a time; write 2026-05-01 09:00, or 2h for two hours ago"
        return None


def conditions_in(form: Form, name: str, said: Sequence[str]) -> Where:
    """Conditions on metadata; several values for one key mean one of them."""
    found = []
    for text in filter(None, said):
        condition = _condition(text)
        if condition is None:
            form.wrong[name] = f"{text!r} is not a condition; write key=value, key!=value, or a key alone"
        else:
            found.append(condition)
    return _joined(found)


def _condition(text: str) -> Condition | None:
    try:
        return condition_of(text)
    except InvalidSetting:
        return None


def _joined(conditions: Sequence[Condition]) -> Where:
    equal: dict[str, list[str]] = {}
    for each in conditions:
        if each.operator == "=":
            equal.setdefault(each.key, []).append(each.values[0])
    others = [each for each in conditions if each.operator != "="]
    return (*(Condition(key, "in", tuple(values)) for key, values in equal.items()), *others)


def _moment(said: str, now: datetime) -> datetime:
    try:
        return now - span_of(said)
    except ValueError:
        found = datetime.fromisoformat(said)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
