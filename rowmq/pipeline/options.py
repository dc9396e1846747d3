"""The options of ``format("rowmq")``: text from Spark, made values, with a clear word where it cannot be.

A role declares what it takes as a dataclass whose fields are annotated with an :class:`Option`; :func:`given`
fills it.
Spark does not tell upper from lower case in the names of options, so neither does this.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, cast, get_type_hints

from rowmq.core.errors import InvalidInput, InvalidSetting
from rowmq.core.names import check_name
from rowmq.core.outcome import State
from rowmq.core.where import Where, where

T = TypeVar("T")
Table = Literal["messages", "failures", "ledger"]
Form = Literal["text", "binary"]
SPARKS_OWN = ("checkpointlocation", "path", "queryname", "outputmode")
"""What Spark passes on although it is meant for Spark itself."""
_YES, _NO = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


class Option(NamedTuple):
    """The annotation of a field that is read from the option of this name."""

    name: str
    read: Callable[[str], Any]


def given(kind: type[T], options: Mapping[str, str]) -> T:
    """The options as a value of this dataclass; InvalidSetting if one is unknown or cannot be read."""
    known = _declared(kind)
    said = {key.lower(): value for key, value in options.items() if key.lower() not in SPARKS_OWN}
    unknown = sorted(set(said) - set(known))
    if unknown:
        there = ", ".join(each.name for _, each in known.values())
        raise InvalidSetting(f"rowmq has no option {', '.join(unknown)} here; there are {there}")
    return kind(**{known[key][0]: _read(known[key][1], value) for key, value in said.items()})


def _declared(kind: type[Any]) -> dict[str, tuple[str, Option]]:
    """A dataclass's fields and their options, by the options' names in lower case."""
    hints = get_type_hints(kind, include_extras=True)
    return {hint.__metadata__[0].name.lower(): (name, hint.__metadata__[0]) for name, hint in hints.items()}


def _read(option: Option, value: str) -> Any:
    try:
        return option.read(value)
    except InvalidInput as error:
        raise InvalidSetting(f"option {option.name}: {error}") from None


def text(value: str) -> str:
    """As it is, but not empty."""
    if not value:
        raise InvalidSetting("give a value that is not empty, or leave the option out")
    return value


def name(value: str) -> str:
    """A name of a queue, topic or subscription."""
    return check_name(value, "name")


def flag(value: str) -> bool:
    """True or false."""
    if value.lower() not in _YES + _NO:
        raise InvalidSetting(f"say true or false, not {value!r}")
    return value.lower() in _YES


def natural(value: str) -> int:
    """A whole number, 1 or more."""
    if not (value.isascii() and value.isdigit()) or int(value) < 1:
        raise InvalidSetting(f"say a whole number from 1, not {value!r}")
    return int(value)


def seconds(value: str) -> timedelta:
    """A length of time in seconds."""
    try:
        length = timedelta(seconds=float(value))
    except (ValueError, OverflowError):
        raise InvalidSetting(f"say a number of seconds, not {value!r}") from None
    if length <= timedelta(0):
        raise InvalidSetting(f"say a number of seconds above 0, not {value!r}")
    return length


def moment(value: str) -> datetime:
    """A moment in ISO 8601, in UTC where it has no offset."""
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        raise InvalidSetting(f"say a moment like 2026-01-31T12:00:00Z, not {value!r}") from None
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)


def states(value: str) -> frozenset[State]:
    """One state, or several with commas between."""
    try:
        return frozenset(State(part.strip().lower()) for part in value.split(","))
    except ValueError:
        raise InvalidSetting(f"a state is one of {', '.join(State)}, not {value!r}") from None


def conditions(value: str) -> Where:
    """Conditions on metadata, from a JSON object."""
    try:
        read = json.loads(value)
    except ValueError:
        read = None
    if not isinstance(read, dict) or not all(isinstance(each, str | list) for each in read.values()):
        raise InvalidSetting(f'say a JSON object like {{"lang": "en", "kind": ["a", "b"]}}, not {value!r}')
    return where(read)


def one_of(*values: str) -> Callable[[str], str]:
    """One of these words."""

    def read(value: str) -> str:
        if value.lower() not in values:
            raise InvalidSetting(f"say one of {', '.join(values)}, not {value!r}")
        return value.lower()

    return read


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the store is: a URL, or the environment variable that holds it on every machine."""

    url: Annotated[str | None, Option("url", text)] = None
    url_env: Annotated[str | None, Option("urlEnv", text)] = None

    def address(self) -> str:
        """The store's URL; InvalidSetting if nothing names one here."""
        if (self.url is None) == (self.url_env is None):
            raise InvalidSetting(
                'say where the store is: either option("url", "sqlite:///jobs.db") or'
                ' option("urlEnv", the name of an environment variable that holds the URL)'
            )
        if self.url_env is None:
            return cast("str", self.url)
        found = os.environ.get(self.url_env)
        if not found:
            raise InvalidSetting(
                f"option urlEnv: the environment variable {self.url_env} is not set on this machine;"
                " set it for the driver and for every executor"
            )
        return found


@dataclass(frozen=True, kw_only=True)
class Origin(Place):
    """Which queue messages come from: one by its name, or a topic's subscription."""

    queue: Annotated[str | None, Option("queue", name)] = None
    topic: Annotated[str | None, Option("topic", name)] = None
    subscription: Annotated[str | None, Option("subscription", name)] = None

    def __post_init__(self) -> None:
        if (self.topic is None) != (self.subscription is None):
            raise InvalidSetting("topic and subscription go together: say both, or queue alone")
        if self.queue is not None and self.topic is not None:
            raise InvalidSetting("say either queue, or topic and subscription, not both")

    @property
    def source(self) -> str | None:
        """The name of the queue to read; None for all of them."""
        return self.queue if self.subscription is None else self.subscription


@dataclass(frozen=True, kw_only=True)
class ReadOptions(Origin):
    """What a batch read takes."""

    table: Annotated[Table, Option("table", one_of("messages", "failures", "ledger"))] = "messages"
    state: Annotated[frozenset[State], Option("state", states)] = frozenset(State)
    since: Annotated[datetime | None, Option("since", moment)] = None
    until: Annotated[datetime | None, Option("until", moment)] = None
    first_seq: Annotated[int | None, Option("firstSeq", natural)] = None
    last_seq: Annotated[int | None, Option("lastSeq", natural)] = None
    where: Annotated[Where, Option("where", conditions)] = ()
    max_age: Annotated[timedelta | None, Option("maxAge", seconds)] = None
    payload: Annotated[Form, Option("payload", one_of("text", "binary"))] = "text"
    payload_schema: Annotated[str | None, Option("payloadSchema", text)] = None
    partitions: Annotated[int | None, Option("partitions", natural)] = None

    def created(self, now: datetime) -> tuple[datetime | None, datetime | None]:
        """The moments between which messages were created: from the first on, before the second."""
        starts = [self.since, None if self.max_age is None else now - self.max_age]
        return max((each for each in starts if each is not None), default=None), self.until
