"""How to serve."""

import secrets
import ssl
from dataclasses import dataclass, field

from rowmq.doors.http.access import Access, Open
from rowmq.doors.http.connection import Limits
from rowmq.doors.http.guard import Guard
from rowmq.doors.http.sqs.settings import Settings as SQSSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to serve. Spans are seconds; ``clients_clock`` is for tests alone."""

    access: Access = field(default_factory=Open)
    guard: Guard = field(default_factory=Guard)
    limits: Limits = field(default_factory=Limits)
    request_timeout: float | None = 30.0
    stop_timeout: float = 30.0
    keep_alive: int = 30
    secret: str | None = None
    """What receipts are sealed with, the same for all servers of a store; its URL if unset."""
    chance: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    """What the dashboard's forms are sealed with where there is no secret: nobody can guess it."""
    archive: str | None = None
    reports: str | None = None
    """The folders of the archive and of reports, for the dashboard to show."""
    tls: ssl.SSLContext | None = None
    upkeep: bool = False
    """Whether to sweep and to fire schedules, too."""
    parent: int | None = None
    """The process to follow: when it is gone this one stops, and until then it alone counts signals."""
    access_log: bool = False
    clients_clock: bool = False
    sqs: SQSSettings = field(default_factory=SQSSettings)
