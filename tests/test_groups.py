"""Tests of one group run in one process, which starts what they share once."""

import pytest


@pytest.mark.xdist_group("a group")
def test_a_group_is_known_to_who_spreads_the_tests(request: pytest.FixtureRequest) -> None:
    """Where groups are forgotten nothing fails: each process starts a Spark and a browser of its own."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("tests are not spread over processes by their groups")
    assert request.node.nodeid.endswith("@a group")
