"""docs/cli.md and the program are compared, both ways."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from rowmq.doors.cli import cli

DOCUMENT = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
BLOCKS = "".join(re.findall(r"```sh\n(.*?)```", DOCUMENT, re.DOTALL)).splitlines()
EXAMPLES = [
    re.sub(r"[|>)].*$", "", line[line.index("rowmq ") :].replace("$receipt", f"7-{'0' * 32}")).strip()
    for line in BLOCKS
    if "rowmq " in line
]


def every(group: click.Group, before: str = "") -> Iterator[str]:
    for name, command in group.commands.items():
        yield before + name
        if isinstance(command, click.Group):
            yield from every(command, f"{before}{name} ")


def test_every_command_has_a_heading_and_every_heading_is_a_command() -> None:
    assert re.findall(r"^### ([\w-]+)$", DOCUMENT, re.MULTILINE) == list(cli.commands)


@pytest.mark.parametrize("command", list(every(cli)))
def test_every_command_has_an_example(command: str) -> None:
    assert any(f"{example} ".startswith(f"rowmq {command} ") for example in EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_understood(example: str) -> None:
    _, *arguments = shlex.split(example)
    group: click.Command = cli
    path = "rowmq"
    while isinstance(group, click.Group) and arguments and not arguments[0].startswith("-"):
        path = arguments.pop(0)
        group = group.commands[path]
    assert group.make_context(path, arguments).params


@pytest.mark.parametrize("command", list(every(cli)))
def test_every_command_says_what_it_does_and_takes_url_and_json(command: str) -> None:
    found: click.Command = cli
    for name in command.split():
        assert isinstance(found, click.Group)
        found = found.commands[name]
    assert found.help
    assert {"url", "as_json"} <= {parameter.name for parameter in found.params}
    bare = [each.name for each in found.params if isinstance(each, click.Option) and not each.help]
    assert bare == []
