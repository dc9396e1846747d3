"""What all pages of one server share."""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime

from rowmq.doors.http.dashboard.hub import Hub
from rowmq.doors.http.dashboard.look import Looker
from rowmq.doors.http.dashboard.session import Sessions
from rowmq.doors.http.request import Request
from rowmq.doors.http.settings import Settings
from rowmq.doors.http.tokens import utc_now

BOARD, TOLD = "rowmq.board", "rowmq.told"


@dataclass(frozen=True, slots=True)
class Board:
    """The sessions, the folders to show, since when it runs, who looks and who watches."""

    sessions: Sessions
    archive: str | None = None
    reports: str | None = None
    request_timeout: float | None = None
    started: datetime = field(default_factory=utc_now)
    looker: Looker = field(default_factory=Looker)
    hub: Hub = field(default_factory=Hub)

    @classmethod
    def of(cls, settings: Settings) -> "Board":
        """That of a server that serves so."""
        secret = settings.chance if settings.secret is None else settings.secret.encode()
        key = hashlib.sha256(b"rowmq dashboard " + secret).digest()
        secure = settings.tls is not None or (settings.sqs.public_url or "").startswith("https:")
        sessions = Sessions(settings.access, key, secure=secure)
        return cls(sessions, settings.archive, settings.reports, settings.request_timeout)


def board_of(request: Request) -> Board:
    """The board of the server that the request came to."""
    found: Board = request.scope[BOARD]
    return found


def told(request: Request) -> datetime | None:
    """What the store's clock said when the request came; None if it was not asked."""
    found: datetime | None = request.scope.get(TOLD)
    return found
