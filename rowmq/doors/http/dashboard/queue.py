"""A queue's page: how it stands, what it did, its settings, and what belongs to it."""

import json
import shlex
from datetime import datetime
from typing import NamedTuple

import msgspec

from rowmq.core.errors import InvalidSetting
from rowmq.core.history import ConsumerInfo
from rowmq.core.monitor import Plan, Sample
from rowmq.core.spans import written
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard import settings_fields, settings_form
from rowmq.doors.http.dashboard.board import told
from rowmq.doors.http.dashboard.figures import LATE, SPANS, Reach, activity, begins, charts
from rowmq.doors.http.dashboard.form import Form
from rowmq.doors.http.dashboard.frame import page
from rowmq.doors.http.dashboard.links import link
from rowmq.doors.http.dashboard.row import doings
from rowmq.doors.http.dashboard.standing import Standing, monitor_of, standing
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right
from rowmq.runtime.rule import Rule

MOST_SHOWN = 50
"""How many consumers, topics and schedules are listed."""


class Asked(msgspec.Struct, frozen=True):
    """How far back the charts go."""

    reach: Reach = "hour"


class About(NamedTuple):
    """What belongs to a queue, and what it did."""

    standing: Standing
    consumers: list[ConsumerInfo]
    topics: list[str]
    schedules: list[Plan]
    samples: list[Sample]
    hour: list[Sample]
    now: datetime


async def queue(call: Call) -> Answer:
    """How a queue stands and what belongs to it."""
    return await shown(call, reach=call.query.reach)


async def shown(
    call: Call, *, asked: str = "", form: Form | None = None, status: int = 200, reach: Reach = "hour"
) -> Answer:
    """The page; ``asked`` is the form on it that was sent, with what is wrong with it."""
    name = call.path["queue"]
    about = await call.run(lambda: _about(call, name, reach))
    history, values = activity(reach, about.now, about.samples), settings_form.values(about.standing.queue)
    lately = doings(activity("hour", about.now, about.hour))
    return page(
        call,
        "queue.html",
        status=status,
        live=link("live", queue=name, reach=reach),
        **head(about.standing, "", asked, form),
        about=about,
        reach=reach,
        charts=charts(reach, history),
        waits=lately["wait"].value,
        runs=lately["run"].value,
        groups=settings_fields.GROUPS,
        values=values,
        was=json.dumps(values),
        rules=[rule_text(each.spec) for each in about.schedules],
        most=MOST_SHOWN,
    )


def head(found: Standing, tab: str, asked: str = "", form: Form | None = None) -> dict[str, object]:
    """What all pages of a queue know: how it stands, which of them this is, and the form that was sent."""
    return {
        "queue": found.queue,
        "counts": found.counts,
        "others": found.others,
        "feeders": found.feeders,
        "shell": shlex.quote(found.queue.name),
        "tab": tab,
        "asked": asked,
        "form": form or Form(),
        "blank": Form(),
    }


def rule_text(spec: str) -> str:
    """When a schedule fires, as people say it; a rule that is not ours as it stands.

    >>> rule_text('{"every": 300}'), rule_text('{"cron": "0 3 * * *", "timezone": "Europe/Berlin"}')
    ('every 5m', '0 3 * * *, Europe/Berlin')
    """
    try:
        rule = Rule.parse(spec)
    except InvalidSetting:
        return spec
    return f"every {written(rule.every)}" if rule.every else f"{rule.cron}, {rule.timezone}"


def _about(call: Call, name: str, reach: Reach) -> About:
    store, may = call.broker.store, call.principal.may
    found, now = standing(call, name), call.now or told(call.request) or store.now()
    topics = [topic for topic, queue in store.topics.bindings() if queue == name and may(Right.READ, topic)]
    schedules = monitor_of(call).plans(queue=name)
    hour = _samples(call, name, "hour", now)
    samples = hour if reach == "hour" else _samples(call, name, reach, now)
    return About(found, store.consumers.list(name, now=call.now), topics, schedules, samples, hour, now)


def _samples(call: Call, name: str, reach: Reach, now: datetime) -> list[Sample]:
    """Those of a queue that its charts may show: the last may be to come, and then there are earlier ones."""
    span = SPANS[reach][0]
    since = begins(reach, now) - LATE[reach] * span
    return monitor_of(call).samples(span, since, queue=name, now=call.now)


ROUTES = (Route("GET", "/ui/queues/{queue}", queue, Right.READ, over="queue", query=Asked),)
