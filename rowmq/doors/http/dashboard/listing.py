"""Lists of a queue's messages: by state, and by what went wrong; a page at a time, found by key."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from rowmq.core.history import Record
from rowmq.core.monitor import MOST_LOOKED, Place, Sheet
from rowmq.core.outcome import State
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard.failure import headline
from rowmq.doors.http.dashboard.form import Form
from rowmq.doors.http.dashboard.frame import page
from rowmq.doors.http.dashboard.links import link
from rowmq.doors.http.dashboard.payload import preview
from rowmq.doors.http.dashboard.place import place_of, place_text
from rowmq.doors.http.dashboard.queue import head
from rowmq.doors.http.dashboard.reading import conditions_in, moment_in, now_of
from rowmq.doors.http.dashboard.standing import Standing, monitor_of, standing
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right

PAGE = 50
"""How many messages are on a page."""
FAILED = "failed"
WRONG = 422


class Search(msgspec.Struct):
    """What is looked for, as it was written, and where in the list."""

    where: list[str] = []
    since: str = ""
    until: str = ""
    text: str = ""
    place: str = ""

    @property
    def narrows(self) -> bool:
        """Whether it is about some messages only."""
        return bool(self.text or self.since or self.until or any(self.where))


class Item(NamedTuple):
    """A message in a list: the beginning of its payload, and what went wrong last."""

    record: Record
    payload: str
    error: str


async def by_state(call: Call) -> Answer:
    """The messages of a queue that are in one state."""
    name, state = call.path["queue"], _state(call)
    search: Search = call.query
    form = Form({"since": search.since, "until": search.until})
    where = conditions_in(form, "where", search.where)
    now = await now_of(call)
    since, until = moment_in(form, "since", now), moment_in(form, "until", now)

    def look(place: Place | None) -> Sheet:
        return monitor_of(call).page(
            name, state, where=where, since=since, until=until, place=place, limit=PAGE, now=call.now
        )

    return await _listed(call, state, form, look)


async def failed(call: Call) -> Answer:
    """The messages that failed in a queue, by the text of an error."""
    name, search = call.path["queue"], call.query

    def look(place: Place | None) -> Sheet:
        return monitor_of(call).failed(name, search.text, place=place, limit=PAGE, now=call.now)

    return await _listed(call, FAILED, Form({"text": search.text}), look)


async def _listed(call: Call, tab: str, form: Form, look: Callable[[Place | None], Sheet]) -> Answer:
    """A page of a list; if what is looked for makes no sense, the same page with nothing but why."""
    name, search = call.path["queue"], call.query
    list_name = f"{tab} {name}"
    place = place_of(call, list_name, search.place)
    seek = _nothing if form.wrong else look
    found, sheet, items = await call.run(lambda: _read(call, lambda: seek(place)))
    following = None if sheet.place is None else place_text(call, list_name, sheet.place)
    return page(
        call,
        "queue_messages.html",
        status=WRONG if form.wrong else 200,
        live=link("live", queue=name),
        **head(found, tab, form=form),
        search=search,
        items=items,
        following=None if following is None else _address(call, tab, following),
        looked=MOST_LOOKED if sheet.place is not None and len(sheet.records) < PAGE else None,
        most=MOST_LOOKED,
    )


def _read(call: Call, look: Callable[[], Sheet]) -> tuple[Standing, Sheet, list[Item]]:
    """How the queue stands, and a page of its list; away from the event loop."""
    found, sheet = standing(call, call.path["queue"]), look()
    may = call.principal.may
    # What failed here may be in another queue by now.
    shown = [each for each in sheet.records if may(Right.READ, each.queue)]
    return found, sheet, [_item(each, sheet) for each in shown]


def _item(record: Record, sheet: Sheet) -> Item:
    wrong = sheet.failures.get(record.seq)
    return Item(record, preview(record.body), headline(wrong.attempt.error) if wrong else "")


def _nothing(_place: Place | None) -> Sheet:
    return Sheet([])


def _address(call: Call, tab: str, place: str) -> str:
    """The next page of the same list."""
    search: Search = call.query
    where = [each for each in search.where if each]
    said = {"where": where, "since": search.since, "until": search.until, "text": search.text}
    return link(
        "queues", call.path["queue"], tab, **{key: each or None for key, each in said.items()}, place=place
    )


def _state(call: Call) -> State:
    said = call.path["state"]
    if said not in list(State):
        raise Refusal(404, f"messages are {', '.join(State)}; none is {said!r}")
    return State(said)


LIST = "/ui/queues/{queue}/{state}"
ROUTES = (
    Route("GET", LIST, by_state, Right.READ, over="queue", query=Search),
    Route("GET", f"/ui/queues/{{queue}}/{FAILED}", failed, Right.READ, over="queue", query=Search),
)
