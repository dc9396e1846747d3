"""Starting out: the store, its tables, some queues, and a file to set things in."""

from collections.abc import Sequence
from pathlib import Path

import click

from rowmq.doors.cli.session import Session, with_session
from rowmq.runtime.config import Config, Option, options
from rowmq.runtime.config_file import FILES
from rowmq.runtime.log import redacted

HEAD = """\
# RowMQ's options. Those commented out show their defaults; environment variables and arguments win over this
# file. See docs/configuration.md.
"""


@click.command()
@click.option(
    "-q", "--queue", "queues", multiple=True, metavar="NAME", help="Make this queue; may be repeated."
)
@click.option("--config/--no-config", default=True, help="Whether to write rowmq.toml here.")
@with_session
def init(session: Session, *, queues: Sequence[str], config: bool) -> None:
    """Make the store and its tables, queues if you name some, and a commented rowmq.toml."""
    with session.client(make=True) as client:
        for name in queues:
            client.queue(name)
    path = Path.cwd() / FILES[0]
    written = config and not path.exists()
    if written:
        path.write_text(file_text(session.config), encoding="utf-8")
    _tell(session, queues, path if written else None)


def file_text(config: Config) -> str:
    """A rowmq.toml with every option; the URL counts, unless it has a password in it."""
    lines, section = [HEAD], ""
    for option in options():
        table, _, key = option.name.rpartition(".")
        if table != section:
            lines.append(f"\n[{table}]")
            section = table
        lines += [f"# {option.help}", _assignment(key, option, config)]
    return "\n".join(lines) + "\n"


def _assignment(key: str, option: Option, config: Config) -> str:
    if key == "url":
        if redacted(config.url) != config.url:
            return '# It has a password, so it is not kept here: set ROWMQ_URL.\n# url = "..."'
        return f"url = {_toml(config.url)}"
    unset = '"..."' if option.kind is str else "..."
    return f"# {key} = {unset if option.default is None else _toml(option.default)}"


def _toml(value: object) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value).lower() if isinstance(value, bool) else str(value)


def _tell(session: Session, queues: Sequence[str], path: Path | None) -> None:
    url = redacted(session.config.url)
    named = f", with queues {', '.join(queues)}" if queues else ""
    wrote = f"; wrote {path}" if path else ""
    session.out.result(
        {"url": url, "queues": list(queues), "config": path and str(path)},
        f"the store {url} is ready{named}{wrote}",
    )
