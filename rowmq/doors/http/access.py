"""Who is asking: from what a request shows to a principal."""

from typing import Protocol

from rowmq.doors.http.request import Request
from rowmq.doors.http.right import ANYBODY, Principal


class Access(Protocol):
    """Tells who sends a request."""

    def principal(self, request: Request) -> Principal:
        """Who it is. Raises Refusal 401, which says nothing of what exactly was wrong."""

    def signer(self, request: Request, body: bytes) -> Principal:
        """Who it is that signed it, in AWS's way. Raises Refusal with AWS's code."""


class Open:
    """No tokens are set up: everybody on this machine may do everything."""

    def principal(self, request: Request) -> Principal:  # noqa: ARG002 - whoever it is
        """Anybody."""
        return ANYBODY

    def signer(self, request: Request, body: bytes) -> Principal:  # noqa: ARG002 - signed or not
        """Anybody."""
        return ANYBODY
