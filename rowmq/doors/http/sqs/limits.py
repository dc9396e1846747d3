"""AWS's limits and the words in which it insists on them."""

import re
from collections.abc import Sequence
from typing import Protocol

from rowmq.doors.http.sqs.errors import Fault, invalid, invalid_value

LARGEST_MESSAGE = 2**20
LARGEST_BATCH = 10
LONGEST_DELAY = 900
LONGEST_WAIT = 20
LONGEST_TIMEOUT = 43_200
ENTRY_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")
TOKEN = re.compile(r"[A-Za-z0-9!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]{1,128}")


class Entry(Protocol):
    """One of a batch."""

    @property
    def id(self) -> str:
        """What its sender calls it."""


def check_entries(entries: Sequence[Entry], kind: str) -> None:
    """Refuse a batch that is empty, too long, or whose entries cannot be told apart."""
    if not entries:
        raise Fault("EmptyBatchRequest", f"There should be at least one {kind} in the request.")
    if len(entries) > LARGEST_BATCH:
        raise Fault(
            "TooManyEntriesInBatchRequest",
            f"Maximum number of entries per request are {LARGEST_BATCH}. You have sent {len(entries)}.",
        )
    _check_ids([entry.id for entry in entries])


def _check_ids(ids: Sequence[str]) -> None:
    if not all(map(ENTRY_ID.fullmatch, ids)):
        raise Fault(
            "InvalidBatchEntryId",
            "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "
            "It can be at most 80 letters long.",
        )
    repeated = next((id for place, id in enumerate(ids) if id in ids[:place]), None)
    if repeated is not None:
        raise Fault("BatchEntryIdsNotDistinct", f"Id {repeated} repeated.")


def check_token(value: str, parameter: str) -> None:
    """Refuse a deduplication, group or attempt id that AWS would not take."""
    if not TOKEN.fullmatch(value):
        raise invalid_value(
            value,
            parameter,
            f"{parameter} can only include alphanumeric and punctuation characters. 1 to 128 in length.",
        )


def check_count(value: int | None, parameter: str, least: int, most: int) -> None:
    """Refuse a number of things that is out of range."""
    if value is not None and not least <= value <= most:
        raise invalid_value(value, parameter, f"Must be between {least} and {most}, if provided.")


def check_seconds(value: int | None, parameter: str, most: int) -> None:
    """Refuse a span that is out of range."""
    if value is not None and not 0 <= value <= most:
        raise invalid_value(value, parameter, f"Must be >= 0 and <= {most}, if provided.")


def too_long(most: int, *, entry: bool = False) -> Fault:
    """A message that is larger than its queue takes."""
    what = "cannot be validated" if entry else "are invalid"
    return invalid(f"One or more parameters {what}. Reason: Message must be shorter than {most} bytes.")
