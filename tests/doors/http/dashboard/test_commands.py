"""What pages tell people to type can be typed."""

import html
import re
import shlex
from collections.abc import Iterator

import click
import pytest

from rowmq.doors.cli.program import cli
from rowmq.doors.http.dashboard.frame import environment

_COMMAND = re.compile(r"<(?:pre|code)>(rowmq .*?)</(?:pre|code)>", re.DOTALL)
_VALUE = re.compile(r"\{\{.*?\}\}")


def commands() -> Iterator[tuple[str, str]]:
    """Every command on every page, as it would be typed."""
    found = environment()
    for name in found.list_templates():
        assert found.loader is not None
        text = found.loader.get_source(found, name)[0]
        for block in _COMMAND.findall(text):
            for line in html.unescape(block).splitlines():
                yield name, _VALUE.sub("emails", line)


@pytest.mark.parametrize(("page", "line"), list(commands()))
def test_a_command_on_a_page_is_one_of_ours(page: str, line: str) -> None:
    group: click.Command = cli
    context = click.Context(cli)
    words = shlex.split(line)[1:]
    while isinstance(group, click.Group):
        found = group.get_command(context, words[0])
        assert found is not None, f"{page}: there is no {words[0]!r} in {line!r}"
        group, words = found, words[1:]
    parsed = group.make_context(group.name, words, parent=context, resilient_parsing=False)
    assert parsed.params


def test_commands_are_found_on_the_pages() -> None:
    assert len(list(commands())) >= 12
