"""A queue's settings, written into a form and read out of it."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowmq.core.backoff import Backoff
from rowmq.core.queue import Archive, Guarantee, Queue, Rate, changed
from rowmq.doors.http.dashboard.form import Form
from rowmq.doors.http.dashboard.settings_fields import FIELDS, GROUPS
from rowmq.doors.http.dashboard.settings_form import WAS, changes, values

PLAIN = Queue(name="emails")
SPANS = st.timedeltas(timedelta(milliseconds=1), timedelta(days=3650))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
QUEUES = st.builds(
    Queue,
    name=st.just("emails"),
    max_attempts=st.none() | st.integers(1, 2**31 - 1),
    lease=SPANS,
    delay=SPANS,
    backoff=st.builds(
        Backoff,
        first=st.timedeltas(timedelta(0), timedelta(hours=1)),
        factor=st.integers(10, 1000).map(lambda tenths: tenths / 10),
        cap=st.timedeltas(timedelta(hours=1), timedelta(days=9)),
        jitter=st.integers(0, 100).map(lambda hundredths: hundredths / 100),
    ),
    delivery=st.sampled_from(Guarantee),
    fifo=st.booleans(),
    retention=st.none() | SPANS,
    max_age=st.none() | SPANS,
    dead_letter=st.none() | st.just("dead"),
    max_length=st.none() | st.integers(1, 100_000),
    archive=st.sampled_from(Archive),
    tags=st.dictionaries(TEXTS, TEXTS, max_size=3),
    rate=st.none()
    | st.builds(Rate, st.integers(1, 1_000_000), st.timedeltas(timedelta(milliseconds=1), timedelta(days=1))),
)


def filled(queue: Queue = PLAIN, /, **said: str) -> Form:
    """The form as it was shown for a queue, with some fields changed."""
    shown = values(queue)
    return Form({**shown, WAS: json.dumps(shown), **said})


@settings(max_examples=60, deadline=None)
@given(QUEUES, QUEUES)
def test_what_a_form_shows_of_a_queue_makes_another_the_same(wanted: Queue, queue: Queue) -> None:
    form = filled(queue, **values(wanted))
    assert changed(queue, changes(queue, form)) == wanted
    assert not form.wrong


def test_every_setting_but_the_pause_has_a_field_with_a_label_and_a_meaning() -> None:
    parts = {"first", "factor", "cap", "jitter"}
    assert set(FIELDS) - parts == set(Queue.__dataclass_fields__) - {"name", "paused", "backoff"}
    assert all(each.label and each.meaning for group in GROUPS for each in group.fields)


def test_an_untouched_form_changes_nothing() -> None:
    assert changes(PLAIN, filled()) == {}


def test_only_what_was_edited_changes_though_the_queue_has_changed_meanwhile() -> None:
    form = filled(lease="1m", factor="3")
    now = changed(PLAIN, {"delay": timedelta(hours=1), "backoff": Backoff(first=timedelta(seconds=9))})
    assert changes(now, form) == {
        "lease": timedelta(minutes=1),
        "backoff": Backoff(first=timedelta(seconds=9), factor=3),
    }


@pytest.mark.parametrize("was", ["", "no JSON", "[]", "[" * 100_000])
def test_a_form_that_does_not_say_what_it_showed_is_compared_with_the_queue(was: str) -> None:
    assert changes(PLAIN, Form({WAS: was, "lease": "30s", "delay": "5"})) == {"delay": timedelta(seconds=5)}


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("lease", "soon", "'soon' is not a span of time; write seconds, or 500ms, 30s, 5m, 2h, 1d, 1h30m"),
        ("lease", "", "'' is not a span of time"),
        ("lease", "0", "lease is between 0:00:00.001000 and 3650 days, not 0:00:00"),
        ("delay", "4000d", "delay is between 0:00:00 and 3650 days"),
        ("max_attempts", "0", "max_attempts is a whole number from 1 to 2147483647, or None, not 0"),
        ("max_attempts", "many", "'many' is not a whole number; write one like 5"),
        ("max_attempts", "9" * 5000, "is not a whole number"),
        ("max_length", "100001", "max_length is a whole number from 1 to 100000"),
        ("rate", "fast", "'fast' is not a rate; write 100/s, or 1000/5m"),
        ("rate", "0/s", "a rate's limit is a whole number from 1 to 1000000, not 0"),
        ("delivery", "maybe", "'maybe' is not a valid Guarantee"),
        ("first", "2h", "a backoff needs 0 <= first <= cap, not 2:00:00 and 1:00:00"),
        ("factor", "x", "'x' is not a number; write one like 2 or 0.5"),
        ("factor", "nan", "a backoff factor is between 1 and 100, not nan"),
        ("jitter", "2", "a backoff jitter is between 0 and 1, not 2.0"),
        ("dead_letter", "emails", "queue 'emails' cannot be its own dead-letter queue"),
        ("dead_letter", "x" * 256, "a dead-letter queue name has 1 to 255 characters, this one has 256"),
        ("tags", "loose", "'loose' is not a tag; write key=value, one a line"),
        ("tags", "{", "tags that begin with { are a JSON object, and this is none"),
        ("tags", '{"a": 1}', "tags map strings to strings, but 'a' has 1"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(name: str, text: str, complaint: str) -> None:
    form = filled(**{name: text})
    changes(PLAIN, form)
    assert set(form.wrong) == {name}
    assert complaint in form.wrong[name]


def test_parts_of_the_backoff_that_go_only_together_are_taken_together() -> None:
    form = filled(first="2h", cap="4h")
    assert changes(PLAIN, form)["backoff"] == Backoff(first=timedelta(hours=2), cap=timedelta(hours=4))
    assert not form.wrong


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("max_attempts", "", None),
        ("retention", "", None),
        ("retention", "0", timedelta(0)),
        ("rate", "100/s", Rate(100, timedelta(seconds=1))),
        ("rate", " 1000/5m ", Rate(1000, timedelta(minutes=5))),
        ("dead_letter", "dead", "dead"),
        ("tags", "a = 1\n\nb=x=y", {"a": "1", "b": "x=y"}),
        ("delivery", "at_most_once", Guarantee.AT_MOST_ONCE),
        ("archive", "required", Archive.REQUIRED),
        ("fifo", "yes", True),
    ],
)
def test_what_people_write_is_understood(name: str, text: str, value: Any) -> None:
    assert changes(PLAIN, filled(**{name: text})) == {name: value}


def test_values_are_written_as_people_write_them() -> None:
    queue = changed(PLAIN, {"rate": Rate(100, timedelta(seconds=1)), "tags": {"team": "mail", "on": "call"}})
    shown = values(queue)
    assert (shown["lease"], shown["retention"], shown["rate"], shown["factor"]) == ("30s", "7d", "100/s", "2")
    assert (shown["tags"], shown["max_age"], shown["fifo"]) == ("team=mail\non=call", "", "no")
