"""The front page: every queue, how it stands and what it does."""

from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard.frame import page
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right


async def overview(call: Call) -> Answer:
    """Every queue that the visitor may read."""
    return page(call, "overview.html")


async def nothing(call: Call) -> Answer:
    """No page: otherwise this would be SQS's, whose paths begin with anything."""
    raise Refusal(404, f"there is no page {call.path['page']!r}")


ROUTES = (
    Route("GET", "/ui", overview, Right.READ, late=True),
    Route("GET", "/ui/{page}", nothing, Right.READ, late=True),
)
