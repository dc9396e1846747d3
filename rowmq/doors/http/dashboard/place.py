"""Places in lists, as addresses carry them: sealed, so that a store is only ever asked for its own."""

import struct

from rowmq.core.monitor import Place
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard.sealing import Sealing
from rowmq.doors.http.dashboard.session import visit_of
from rowmq.doors.http.refusal import bad_request, forbidden


def place_text(call: Call, of: str, place: Place) -> str:
    """A place in the list of this name."""
    return _sealing(call).seal(f"place {of}", struct.pack(f"!{len(place)}q", *place))


def place_of(call: Call, of: str, text: str) -> Place | None:
    """The place that a text stands for; none, if it is empty. Raises Refusal 400."""
    if not text:
        return None
    said = _sealing(call).open(f"place {of}", text)
    if said is None:
        raise bad_request("this is no place in this list that we gave out; begin with its first page")
    return struct.unpack(f"!{len(said) // 8}q", said)


def _sealing(call: Call) -> Sealing:
    visit = visit_of(call.request)
    if visit is None:
        raise forbidden()
    return visit.sealing
