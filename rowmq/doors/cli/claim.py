"""Claiming by hand: messages are printed with the receipts that settle them."""

import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import click

from rowmq.core.where import Condition
from rowmq.doors.cli.completion import queue_argument
from rowmq.doors.cli.output import Output
from rowmq.doors.cli.session import Session, with_session
from rowmq.doors.cli.shapes import claimed_shape
from rowmq.doors.cli.words import MEETS, SPAN, all_of
from rowmq.runtime.claimed import ClaimedMessage
from rowmq.runtime.handle import QueueHandle

NOTHING_THERE = 3
COLUMNS = ("id", "attempt", "payload", "metadata", "receipt")


@click.command()
@queue_argument()
@click.option("-n", "--limit", type=int, default=1, show_default=True, help="The most messages to claim.")
@click.option("--wait", type=SPAN, default="0", help="How long to wait for the first of them.")
@click.option("--lease", type=SPAN, help="How long they are hidden; the queue's lease by default.")
@click.option("--where", type=MEETS, multiple=True, help="Only where metadata says so; may be repeated.")
@click.option("--max-age", type=SPAN, help="Only messages that are not older.")
@click.option("--consumer", metavar="NAME", help="The name written down as their holder.")
@click.option("--per-group", type=int, default=1, show_default=True, help="The most of one group.")
@click.option("--ack", is_flag=True, help="Ack them once they are printed.")
@with_session
def claim(
    session: Session, *, queue: str, wait: timedelta, where: Sequence[Condition], ack: bool, **options: Any
) -> int:
    """Claim messages and print them. With --json, one line each.

    Settle them by their receipts with rowmq ack, retry, release or kill; otherwise they come back when
    their leases end. The exit code is 3 if there is nothing to claim.
    """
    with session.client() as client:
        found = QueueHandle(client, queue).claim(wait=wait, where=all_of(where), **options)
        _print(session.out, found)
        for message in found if ack else ():
            message.ack()
    return 0 if found else NOTHING_THERE


def _print(out: Output, found: Sequence[ClaimedMessage]) -> None:
    shapes = [claimed_shape(message) for message in found]
    if not out.as_json:
        out.listing(shapes, COLUMNS, none="there is nothing to claim")
    for shape in shapes if out.as_json else ():
        out.document(shape)
    sys.stdout.flush()  # whoever reads must have it before it is acked
