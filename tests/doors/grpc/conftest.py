"""The program, under a name that leaves ``rowmq`` to the package."""

import pytest

from tests.doors.program import Program


@pytest.fixture
def rowmq_program(rowmq: Program) -> Program:
    return rowmq
