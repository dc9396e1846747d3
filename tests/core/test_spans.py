import doctest
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowmq.core import spans
from rowmq.core.queue import LONGEST_SPAN


def test_the_examples_are_true() -> None:
    assert doctest.testmod(spans) == (0, 3)


@given(st.timedeltas(timedelta(0), LONGEST_SPAN))
def test_what_is_written_is_read_as_the_same_span(span: timedelta) -> None:
    assert spans.span_of(spans.written(span)) == span


@pytest.mark.parametrize("text", ["", "s", "1x", "-1s", "1 s", "1e3", "½", "٣s", "1h 30m", "9" * 400 + "d"])
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the text itself is all it says
        spans.span_of(text)


@pytest.mark.parametrize("text", ["", "100", "/s", "1.5/s", "x/s", "10/", "10/x", "10/-1s"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the text itself is all it says
        spans.rate_of(text)
