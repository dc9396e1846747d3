"""The archive and the reports: what Spark has taken out of the store, and what it has found."""

from typing import NamedTuple

from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard.board import Board, board_of
from rowmq.doors.http.dashboard.frame import page
from rowmq.doors.http.dashboard.lake import Shelf, shelf
from rowmq.doors.http.dashboard.reports import Found, newest
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right


class Kept(NamedTuple):
    """What there is, or None where the server was not told where to look."""

    shelf: Shelf | None
    reports: list[Found] | None


async def archives(call: Call) -> Answer:
    """The newest batches of the archive and the newest reports, for who may read everything."""
    board = board_of(call.request)
    found = await call.run(lambda: _kept(board))
    return page(call, "archives.html", shelf=found.shelf, reports=found.reports, archive=board.archive)


def _kept(board: Board) -> Kept:
    return Kept(
        None if board.archive is None else shelf(board.archive),
        None if board.reports is None else newest(board.reports),
    )


ROUTES = (Route("GET", "/ui/archives", archives, Right.READ),)
