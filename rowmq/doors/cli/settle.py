"""Settling by receipt what was claimed by hand."""

import random
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import click

from rowmq.core.delivery import Receipt, Settlement
from rowmq.core.outcome import Ack, Bury, Failure, Outcome, Reason, Release, Settled, decide
from rowmq.core.queue import Queue
from rowmq.doors.cli.session import Session, with_session
from rowmq.doors.cli.words import RECEIPT, SPAN, json_value, receipt_text
from rowmq.runtime.claimed import as_result
from rowmq.runtime.client import Client

GONE = "went on without this holder: its lease ended, or it was settled"
receipts_argument = click.argument("receipts", type=RECEIPT, nargs=-1, required=True, metavar="RECEIPT...")


@click.command()
@receipts_argument
@click.option("--result", metavar="JSON", help="What to keep as the result.")
@with_session
def ack(session: Session, *, receipts: Sequence[Receipt], result: str | None) -> int:
    """Say that claimed messages are done."""
    kept = None if result is None else as_result(json_value(result))
    return _settle(session, receipts, lambda _client, _receipt: Ack(result=kept))


@click.command()
@receipts_argument
@click.option("--after", type=SPAN, help="When they come back; by default the queue's backoff says.")
@click.option("--error", default="asked for a retry", help="What is kept as their error.")
@with_session
def retry(session: Session, *, receipts: Sequence[Receipt], after: timedelta | None, error: str) -> int:
    """Say that claimed messages failed and are to be tried again."""
    failure = Failure(error=error, after=after)
    return _settle(session, receipts, lambda client, receipt: _failed(client, receipt, failure))


@click.command()
@receipts_argument
@click.option("--after", type=SPAN, default="0", help="When they come back; at once by default.")
@with_session
def release(session: Session, *, receipts: Sequence[Receipt], after: timedelta) -> int:
    """Give claimed messages back untried: the attempt does not count."""
    return _settle(session, receipts, lambda _client, _receipt: Release(delay=after))


@click.command()
@receipts_argument
@click.option("--reason", default="killed by hand", help="What is kept as their error.")
@with_session
def kill(session: Session, *, receipts: Sequence[Receipt], reason: str) -> int:
    """Say that claimed messages are dead: trying again would not help."""
    return _settle(session, receipts, lambda *_: Bury(reason=Reason.KILLED, error=reason))


@click.command()
@receipts_argument
@click.option("--lease", type=SPAN, default="30s", show_default=True, help="How long from now.")
@with_session
def extend(session: Session, *, receipts: Sequence[Receipt], lease: timedelta) -> int:
    """Keep claimed messages for longer."""
    with session.client() as client:
        ends = client.store.extend(receipts, lease)
    found = [
        {"receipt": receipt_text(receipt), "lease_until": end}
        for receipt, end in zip(receipts, ends, strict=True)
    ]
    session.out.listing(found, ("receipt", "lease_until"), none="")
    return _code(session, sum(end is None for end in ends))


def _settle(
    session: Session, receipts: Sequence[Receipt], outcome: Callable[[Client, Receipt], Outcome]
) -> int:
    with session.client() as client:
        answers = client.store.settle([Settlement(each, outcome(client, each)) for each in receipts])
    found: list[dict[str, Any]] = [
        {"receipt": receipt_text(receipt), "answer": answer}
        for receipt, answer in zip(receipts, answers, strict=True)
    ]
    session.out.listing(found, ("receipt", "answer"), none="")
    return _code(session, answers.count(Settled.LOST))


def _code(session: Session, lost: int) -> int:
    if lost:
        session.out.note(f"rowmq: {lost} of the messages {GONE}")
    return 1 if lost else 0


def _failed(client: Client, receipt: Receipt, failure: Failure) -> Outcome:
    """What becomes of the message: the store itself buries one that has had its last attempt."""
    records = client.store.history.scan(receipt.seq, receipt.seq)
    attempt = records[0].attempts if records else 1
    queue = (client.store.queues.get(records[0].queue) if records else None) or Queue(name="gone")
    return decide(
        max(1, attempt),
        failure,
        max_attempts=queue.max_attempts,
        backoff=queue.backoff,
        draw=random.random(),  # noqa: S311 - it only spreads retries
    )
