"""How RowMQ is set up: defaults, then a file, then the environment, then arguments; the last word counts.

The file is rowmq.toml, or the table [tool.rowmq] of pyproject.toml, in the working directory or the
nearest directory above it that has one. Variables begin with ROWMQ_.
"""

import difflib
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from rowmq.core.errors import InvalidSetting
from rowmq.runtime.config_file import beside, find_file, flat
from rowmq.runtime.config_sections import (
    ConsumerConfig,
    LogConfig,
    MetricsConfig,
    ProducerConfig,
    ServerConfig,
    SQSConfig,
    WorkerConfig,
    option,
)

DEFAULT_URL = "sqlite:///rowmq.db"
TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Config:
    """Every option. ``load()`` reads it; ``load().url`` is the store that no argument named."""

    url: str = option(DEFAULT_URL, "The store's URL.")
    worker: WorkerConfig = field(default_factory=WorkerConfig)
    producer: ProducerConfig = field(default_factory=ProducerConfig)
    consumer: ConsumerConfig = field(default_factory=ConsumerConfig)
    log: LogConfig = field(default_factory=LogConfig)
    metrics: MetricsConfig = field(default_factory=MetricsConfig)
    server: ServerConfig = field(default_factory=ServerConfig)
    sqs: SQSConfig = field(default_factory=SQSConfig)


class Option(NamedTuple):
    """One option: its name is its TOML key, ``worker.poll``, and ``ROWMQ_WORKER_POLL`` its variable."""

    name: str
    type: Any
    default: Any
    help: str
    least: float | None
    most: float | None
    choices: tuple[str, ...]
    path: bool

    @property
    def env(self) -> str:
        """The environment variable."""
        return "ROWMQ_" + self.name.upper().replace(".", "_")

    @property
    def meaning(self) -> str:
        """What a value must be, as a sentence goes on."""
        if self.choices or self.kind is bool:
            return "one of " + ", ".join(self.choices or TRUTHS)
        kind = {int: "a whole number", float: "a number", str: "text"}[self.kind]
        bounds = {"of at least": self.least, "of at most": self.most}
        said = [f"{words} {bound:g}" for words, bound in bounds.items() if bound is not None]
        return " ".join([kind, " and ".join(said)]).strip()

    @property
    def kind(self) -> Any:
        """The type of a value that is given."""
        return next(each for each in (bool, int, float, str) if self.type in (each, each | None))

    def parse(self, value: Any, where: str) -> Any:
        """The value of a TOML file or, as text, of a variable; ``where`` it stands is for the error."""
        if isinstance(value, str) and self.kind is not str:
            value = self._read(value.strip())
        good = isinstance(value, int | float if self.kind is float else self.kind)
        if not good or isinstance(value, bool) != (self.kind is bool) or not self._allowed(value):
            raise InvalidSetting(f"{where} is {self.meaning}, not {value!r}")
        return float(value) if self.kind is float else value

    def _read(self, text: str) -> Any:
        if self.kind is bool:
            return TRUTHS.get(text.lower(), text)
        try:
            return self.kind(text)
        except ValueError:
            return text

    def _allowed(self, value: Any) -> bool:
        if self.kind is str:
            return bool(value) and (not self.choices or value in self.choices)
        low = -math.inf if self.least is None else self.least
        high = math.inf if self.most is None else self.most
        return math.isfinite(value) and low <= value <= high


def options(of: Any = Config, prefix: str = "") -> Iterator[Option]:
    """Every option there is, in the order of the documentation."""
    hints = get_type_hints(of)
    for each in fields(of):
        kind = hints[each.name]
        if is_dataclass(kind):
            yield from options(kind, f"{each.name}.")
        else:
            yield Option(prefix + each.name, kind, each.default, **each.metadata)


def load(
    arguments: Mapping[str, Any] | None = None,
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Config:
    """Read the configuration. ``arguments`` are named as the options are; None leaves one unsaid.

    >>> load({"worker.concurrency": 2}).worker.concurrency
    2
    """
    known = {each.name: each for each in options()}
    said = {
        **_from_file(known, folder or Path.cwd()),
        **_from_environment(known, os.environ if environment is None else environment),
        **{known[name].name: value for name, value in (arguments or {}).items() if value is not None},
    }
    config: Config = _with(Config(), said)
    return config


def _from_file(known: Mapping[str, Option], folder: Path) -> dict[str, Any]:
    found = find_file(folder)
    if found is None:
        return {}
    path, table = found
    said = {}
    for name, value in flat(table):
        if name not in known:
            raise InvalidSetting(f"{path} has {name}, which is no option{_hint(name, known)}")
        said[name] = known[name].parse(value, f"{name} in {path}")
    if "url" in said:
        said["url"] = beside(said["url"], path.parent)
    paths = {name: said[name] for name in said if known[name].path and "://" not in said[name]}
    return said | {name: str(path.parent / value) for name, value in paths.items()}


def _hint(name: str, known: Mapping[str, Option]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else "; see docs/configuration.md"


def _from_environment(known: Mapping[str, Option], environment: Mapping[str, str]) -> dict[str, Any]:
    return {
        each.name: each.parse(environment[each.env], each.env)
        for each in known.values()
        if environment.get(each.env)
    }


def _with(config: Any, said: Mapping[str, Any]) -> Any:
    changes: dict[str, Any] = {}
    for each in fields(config):
        inner = {
            name.partition(".")[2]: value for name, value in said.items() if name.startswith(f"{each.name}.")
        }
        if inner:
            changes[each.name] = _with(getattr(config, each.name), inner)
        elif each.name in said:
            changes[each.name] = said[each.name]
    return replace(config, **changes)
