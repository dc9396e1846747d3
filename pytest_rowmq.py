"""Fixtures for pytest. It stands outside the package so that tests that use none of them load nothing."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rowmq import Client
    from rowmq.testing import Clock


@pytest.fixture
def rowmq_clock() -> "Clock":
    """A clock that stands still until the test moves it."""
    from rowmq.testing import Clock  # noqa: PLC0415 - loaded when it is used

    return Clock()


@pytest.fixture
def rowmq_client(rowmq_clock: "Clock") -> "Iterator[Client]":
    """A client on a store in memory that goes by ``rowmq_clock``, closed after the test."""
    from rowmq.testing import connect  # noqa: PLC0415 - the same

    with connect(rowmq_clock) as client:
        yield client
