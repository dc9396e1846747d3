"""A store that was away: nobody is taken for gone because of that."""

from __future__ import annotations

from datetime import timedelta

from rowmq.doors.grpc.steady import Steady

PAUSE, SPAN = timedelta(seconds=15), timedelta(seconds=75)


def test_a_store_is_steady_once_it_has_answered_for_that_long() -> None:
    now = [0.0]
    steady = Steady(PAUSE, lambda: now[0])
    for now[0] in range(0, 75, 5):
        steady.answered()
        assert not steady.lasts(SPAN)
    now[0] = 75
    assert not steady.lasts(SPAN)
    steady.answered()
    assert steady.lasts(SPAN)


def test_after_an_outage_the_time_begins_anew() -> None:
    now = [0.0]
    steady = Steady(PAUSE, lambda: now[0])
    for now[0] in [*range(0, 105, 5), 180, *range(185, 255, 5)]:
        steady.answered()
    assert now[0] == 250
    assert not steady.lasts(SPAN)
    now[0] = 255
    steady.answered()
    assert steady.lasts(SPAN)
