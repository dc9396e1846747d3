"""Reports that Spark has written: found in one folder, and served from it and nowhere else."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.dashboard.board import board_of
from rowmq.doors.http.dashboard.frame import HTML
from rowmq.doors.http.dashboard.links import link
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right

PAGE = "report.html"
MOST, LOOKED = 20, 1000
"""How many reports are shown, the newest, and among how many folders they are looked for."""
LARGEST = 64 * 2**20
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'; sandbox"
    ),
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}
"""A report is one file with its own style in it: that works, and nothing in it runs or is fetched."""


class Found(NamedTuple):
    """A report: the folder it is in, and when it was written."""

    name: str
    made_at: datetime
    size: int

    @property
    def address(self) -> str:
        """Where it is served."""
        return link("reports", self.name)


def newest(folder: str) -> list[Found]:
    """The newest reports in a folder, and in the folders in it."""
    found = sorted(_found(Path(folder)), key=lambda each: each.made_at, reverse=True)
    return found[:MOST]


def _found(root: Path) -> Iterator[Found]:
    for name in (".", *_folders(root)):
        with suppress(OSError, ValueError):
            known = _inside(root, name).stat()
            yield Found(name, datetime.fromtimestamp(known.st_mtime, UTC), known.st_size)


def _folders(root: Path) -> list[str]:
    with suppress(OSError):
        return [each.name for each in sorted(root.iterdir(), reverse=True)[:LOOKED] if each.is_dir()]
    return []


def _inside(root: Path, name: str) -> Path:
    """The report of that name, which really is in the folder. Raises ValueError or OSError if it is not."""
    path = (root / name / PAGE).resolve(strict=True)
    path.relative_to(root.resolve())
    return path


async def report(call: Call) -> Answer:
    """The page of a report, for who may read everything, because it is about all queues."""
    folder, name = board_of(call.request).reports, call.path["report"]
    content = None if folder is None else await call.run(lambda: _content(Path(folder), name))
    if content is None:
        raise Refusal(404, "there is no such report; the page of archives lists those there are")
    return Answer(200, content, HTML, HEADERS)


def _content(root: Path, name: str) -> bytes | None:
    """The page, if the name is one of those that the folder has, and not a way out of it."""
    if name not in {".", *_folders(root)}:
        return None
    with suppress(OSError, ValueError):
        path = _inside(root, name)
        return path.read_bytes() if path.stat().st_size <= LARGEST else None
    return None


ROUTES = (Route("GET", "/ui/reports/{report}", report, Right.READ),)
