"""Every setting of a queue as an option."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import click

from rowmq.core.backoff import Backoff
from rowmq.core.queue import Archive, Guarantee, Queue
from rowmq.doors.cli.completion import complete_queue
from rowmq.doors.cli.words import NOTHING, PAIR, RATE, SPAN, Maybe, one_of

OPTIONS = (
    click.option("--max-attempts", type=Maybe(int), help="Attempts before a message is dead."),
    click.option("--lease", type=SPAN, help="How long a claimed message is hidden."),
    click.option("--delay", type=SPAN, help="How long a pushed message waits if it does not say."),
    click.option("--backoff-first", type=SPAN, help="The wait after the first failed attempt."),
    click.option("--backoff-factor", type=float, help="How much longer each further wait is."),
    click.option("--backoff-cap", type=SPAN, help="The longest wait."),
    click.option("--backoff-jitter", type=float, help="How far waits are spread, as a share of them."),
    click.option("--delivery", type=one_of(Guarantee), help="How often one may be delivered."),
    click.option("--fifo/--no-fifo", default=None, help="Strictly in order, one at a time."),
    click.option("--retention", type=Maybe(SPAN), help="How long finished messages are kept."),
    click.option("--max-age", type=Maybe(SPAN), help="The age at which an unfinished message dies."),
    click.option(
        "--dead-letter", type=Maybe(str), metavar="QUEUE|none", shell_complete=complete_queue,
        help="The queue that dead messages go to.",
    ),
    click.option("--paused/--no-paused", default=None, help="Whether claims find nothing."),
    click.option("--max-length", type=Maybe(int), help="Refuse pushes beyond so many messages."),
    click.option("--archive", type=one_of(Archive), help="Whether retention waits for it."),
    click.option("--rate", type=Maybe(RATE), help="The most that is claimed in a time, such as 100/s."),
    click.option("--tag", "tags", type=PAIR, multiple=True, help="Add a tag; may be repeated."),
    click.option("--untag", metavar="KEY", multiple=True, help="Take a tag away; may be repeated."),
)  # fmt: skip


def settings_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for every setting of a queue."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


def settings_of(said: Mapping[str, Any], queue: Queue | None) -> dict[str, Any]:
    """The settings that were said, as a client takes them; what is only partly said is completed."""
    rest = {name: value for name, value in said.items() if value is not None}
    changes: dict[str, Any] = {}
    backoff = {name.removeprefix("backoff_"): rest.pop(name) for name in list(rest) if "backoff_" in name}
    if backoff:
        changes["backoff"] = replace(queue.backoff if queue else Backoff(), **backoff)
    tags, gone = dict(rest.pop("tags", ())), rest.pop("untag", ())
    if tags or gone:
        kept = {**(queue.tags if queue else {}), **tags}
        changes["tags"] = {key: value for key, value in kept.items() if key not in gone}
    return changes | {name: None if value is NOTHING else value for name, value in rest.items()}
