from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from rowmq.core.delivery import LARGEST_CLAIM, Delivery, Membership, Want, own_first
from rowmq.core.errors import InvalidName, InvalidSetting
from rowmq.core.where import Condition


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"limit": 0}, f"from 1 to {LARGEST_CLAIM}, not 0"),
        ({"limit": LARGEST_CLAIM + 1}, "limit is from 1"),
        ({"per_group": 0}, "per_group is at least 1, not 0"),
        ({"lease": timedelta(0)}, "lease is longer than 0"),
        ({"lease": timedelta(days=3651)}, "at most 3650 days"),
        ({"max_age": timedelta(0)}, "max_age is longer than 0"),
    ],
    ids=str,
)
def test_a_wrong_want_is_refused_with_the_reason(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidSetting, match=complaint):
        Want(**options)


@pytest.mark.parametrize(
    "options", [{"consumer": ""}, {"name": ""}, {"name": "a\n"}, {"consumer": "x" * 256}]
)
def test_consumers_and_claims_have_names(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidName):
        Want(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"where": (Condition("a", "exists"),)},
        {"max_age": timedelta(1)},
        {"consumer": "w"},
        {"per_group": 2},
        {"name": "n"},
        {"upto": 0},
    ],
    ids=str,
)
def test_a_want_that_cannot_take_the_first_that_come_is_choosy(options: dict[str, Any]) -> None:
    assert Want(**options).choosy
    assert not Want(limit=LARGEST_CLAIM, lease=timedelta(1)).choosy


def test_a_want_that_only_names_its_consumer_is_not_choosy() -> None:
    want = Want(consumer="w", share=False)
    assert (want.consumer, want.sharer, want.choosy) == ("w", None, False)
    assert Want(consumer="w").sharer == "w"
    assert Want(consumer="w", share=False, upto=5).choosy


def delivery(**options: Any) -> Delivery:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    given = {
        "seq": 1,
        "token": b"t",
        "queue": "q",
        "uid": uuid4().bytes,
        "body": b'{"a":1}',
        "binary": False,
        "metadata": {},
        "attempt": 1,
        "max_attempts": 2,
        "receives": 1,
        "priority": 0,
        "group": None,
        "created_at": now,
        "deadline": None,
        "lease_until": now,
        "source": None,
    }
    return Delivery(**{**given, **options})


def test_a_delivery_decodes_its_payload() -> None:
    assert delivery().payload == {"a": 1}
    assert delivery(binary=True).payload == b'{"a":1}'
    with pytest.raises(ValueError, match="Expecting value"):
        _ = delivery(body=b"nonsense").payload


@pytest.mark.parametrize(
    ("attempt", "max_attempts", "last"), [(1, 2, False), (2, 2, True), (3, 2, True), (99, None, False)]
)
def test_the_last_attempt_is_the_one_whose_failure_is_final(
    attempt: int, max_attempts: int | None, last: bool
) -> None:
    assert delivery(attempt=attempt, max_attempts=max_attempts).last_attempt is last


@pytest.mark.parametrize(
    ("membership", "limit", "expected"),
    [
        (None, 3, [4, 1, 2]),
        (Membership(0, 1, joined=False), 3, [4, 1, 2]),
        (Membership(0, 2, joined=False), 3, [4, 2, 1]),
        (Membership(1, 2, joined=False), 3, [1, 3, 5]),
        (Membership(2, 3, joined=False), 3, [2, 5, 4]),
        (Membership(1, 2, joined=False), 9, [1, 3, 5, 4, 2]),
        (Membership(0, 9, joined=False), 2, [4, 1]),
    ],
)
def test_a_consumer_takes_its_own_share_first_and_then_others(
    membership: Membership | None, limit: int, expected: list[int]
) -> None:
    assert own_first([4, 1, 2, 3, 5], membership, limit) == expected
