"""A queue's page: how it stands, what it did, its settings, and what belongs to it."""

from typing import NamedTuple

from rowmq.core.history import ConsumerInfo, Schedule
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard import settings_form
from rowmq.doors.http.dashboard.form import Form
from rowmq.doors.http.dashboard.frame import page
from rowmq.doors.http.dashboard.links import link
from rowmq.doors.http.dashboard.standing import Standing, standing
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right

MOST_SHOWN = 50
"""How many consumers, topics and schedules are listed."""


class About(NamedTuple):
    """What belongs to a queue."""

    standing: Standing
    consumers: list[ConsumerInfo]
    topics: list[str]
    schedules: list[Schedule]


async def queue(call: Call) -> Answer:
    """How a queue stands and what belongs to it."""
    return await shown(call)


async def shown(call: Call, *, asked: str = "", form: Form | None = None, status: int = 200) -> Answer:
    """The page; ``asked`` is the form on it that was sent, with what is wrong with it."""
    name = call.path["queue"]
    about = await call.run(lambda: _about(call, name))
    return page(
        call,
        "queue.html",
        status=status,
        live=link("live", queue=name),
        tab="",
        asked=asked,
        form=form or Form(),
        blank=Form(),
        about=about,
        **head(about.standing),
        groups=settings_form.GROUPS,
        values=settings_form.values(about.standing.queue),
        most=MOST_SHOWN,
    )


def head(found: Standing) -> dict[str, object]:
    """What the head of a queue's pages shows."""
    return {"queue": found.queue, "counts": found.counts, "others": found.others, "feeders": found.feeders}


def _about(call: Call, name: str) -> About:
    store, may = call.broker.store, call.principal.may
    found = standing(call, name)
    topics = [topic for topic, queue in store.topics.bindings() if queue == name and may(Right.READ, topic)]
    schedules = [each for each in store.schedules.list() if each.queue == name]
    return About(found, store.consumers.list(name, now=call.now), topics, schedules)


ROUTES = (Route("GET", "/ui/queues/{queue}", queue, Right.READ, over="queue"),)
