"""The fields of a queue's settings: what each is called and means, and how what is written there is read."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from rowmq.core.errors import InvalidSetting
from rowmq.core.queue import Archive, Guarantee, Rate
from rowmq.core.spans import rate_of, span_of

SPAN = "write seconds, or 500ms, 30s, 5m, 2h, 1d, 1h30m"


class Field(NamedTuple):
    """One field of the form."""

    name: str
    label: str
    meaning: str
    read: Callable[[str], Any]
    choices: tuple[tuple[str, str], ...] = ()
    long: bool = False
    backoff: bool = False
    """Whether it is a part of the backoff, which the store keeps as one setting."""


class Group(NamedTuple):
    """Fields that belong together."""

    title: str
    fields: tuple[Field, ...]


def _span(text: str) -> Any:
    try:
        return span_of(text)
    except ValueError:
        raise InvalidSetting(f"{text!r} is not a span of time; {SPAN}") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidSetting(f"{text!r} is not a number; write one like 2 or 0.5") from None


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):  # noqa: PLR2004 - more digits than any count has
        raise InvalidSetting(f"{text!r} is not a whole number; write one like 5")
    return int(text)


def _rate(text: str) -> Rate:
    try:
        limit, period = rate_of(text)
    except ValueError:
        raise InvalidSetting(f"{text!r} is not a rate; write 100/s, or 1000/5m") from None
    return Rate(limit, period)


def _tags(text: str) -> dict[str, str]:
    if text.startswith("{"):
        return _object(text)
    found = {}
    for line in filter(None, map(str.strip, text.split("\n"))):
        key, equals, value = line.partition("=")
        if not key or not equals:
            raise InvalidSetting(f"{line!r} is not a tag; write key=value, one a line")
        found[key.strip()] = value.strip()
    return found


def _object(text: str) -> dict[str, str]:
    """Tags that lines cannot say: with ends of lines, or spaces around them."""
    try:
        found: dict[str, str] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidSetting(
            f"tags that begin with {{ are a JSON object, and this is none: {error}"
        ) from None
    return found


def _maybe(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """The same for a setting that may be nothing."""
    return lambda text: read(text) if text else None


GROUPS = (
    Group(
        "Delivery",
        (
            Field("lease", "Lease", "How long a claimed message is hidden from others.", _span),
            Field("delay", "Delay", "How long a pushed message waits before it can be claimed.", _span),
            Field(
                "max_attempts",
                "Attempts",
                "How often a message is tried before it is dead. Empty: without end.",
                _maybe(_whole),
            ),
            Field(
                "rate",
                "Rate",
                "How many messages are claimed at most in a time, such as 100/s. Empty: no limit.",
                _maybe(_rate),
            ),
            Field(
                "delivery",
                "Guarantee",
                "What happens when a holder vanishes: the message comes back, or is dead.",
                Guarantee,
                (("at_least_once", "at least once"), ("at_most_once", "at most once")),
            ),
            Field(
                "fifo",
                "First in, first out",
                "Whether a lease that has ended can no longer be settled, so that groups stay in order.",
                lambda text: text == "yes",
                (("no", "no"), ("yes", "yes")),
            ),
        ),
    ),
    Group(
        "Backoff",
        (
            Field(
                "first",
                "First wait",
                "How long a message waits after its first failure.",
                _span,
                backoff=True,
            ),
            Field("factor", "Factor", "By how much the wait grows with each failure.", _number, backoff=True),
            Field("cap", "Longest wait", "No wait is longer than this.", _span, backoff=True),
            Field(
                "jitter",
                "Jitter",
                "By which part of itself a wait is made longer or shorter by chance, from 0 to 1.",
                _number,
                backoff=True,
            ),
        ),
    ),
    Group(
        "Keeping",
        (
            Field(
                "retention",
                "Retention",
                "How long finished messages are kept. Empty: for ever. 0: the payload goes with the ack.",
                _maybe(_span),
            ),
            Field(
                "max_age",
                "Longest age",
                "After how long an unfinished message is dead. Empty: never.",
                _maybe(_span),
            ),
            Field(
                "dead_letter",
                "Dead-letter queue",
                "Where dead messages go. Empty: they stay here.",
                lambda text: text or None,
            ),
            Field(
                "max_length",
                "Longest queue",
                "How many unfinished messages there may be; more are refused. Empty: no limit.",
                _maybe(_whole),
            ),
            Field(
                "archive",
                "Archive",
                "Whether retention waits until finished messages are archived.",
                Archive,
                (("optional", "optional: it does not wait"), ("required", "required: it waits")),
            ),
            Field("tags", "Tags", "Anything worth noting: key=value, one a line.", _tags, long=True),
        ),
    ),
)
FIELDS = {each.name: each for group in GROUPS for each in group.fields}
