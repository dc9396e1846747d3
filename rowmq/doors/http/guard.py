"""What no request may do, checked before anything of it is read."""

from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.request import Request


class Guard:
    """Checks the Host and Origin of a request, so that a web page elsewhere cannot reach a local server.

    ``hosts`` are the names that callers may use for this server, without ports; None allows any.
    """

    def __init__(self, hosts: frozenset[str] | None = None) -> None:
        self._hosts = hosts

    def check(self, request: Request) -> None:
        """Raises Refusal."""
        host = request.header(b"host")
        if self._hosts is not None and (host is None or bare(host) not in self._hosts):
            raise Refusal(421, "this server is not called that; say its name with --allow-host")
        origin = request.header(b"origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise Refusal(403, "a page of another origin may not ask this server")


def bare(host: str) -> str:
    """A Host header's value without its port, in lower case.

    >>> bare("LOCALHOST:9999"), bare("[::1]:9999")
    ('localhost', '[::1]')
    """
    name, _, port = host.lower().rpartition(":")
    return name if name and port.isdigit() else host.lower()
