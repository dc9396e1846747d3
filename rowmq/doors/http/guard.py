"""What no request may do, checked before anything of it is read."""

import ipaddress
from collections.abc import Iterable

from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.request import Request

HEADERS, HEADER_BYTES = 100, 32 * 1024
"""How many headers a request may have, and of how many bytes together."""
PATH_BYTES = 8 * 1024
"""How long an address may be, with its query."""
LENGTH_DIGITS = 15
LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
ELSEWHERE = frozenset({"cross-site", "same-site"})
ONCE = frozenset({b"host", b"content-length", b"transfer-encoding", b"authorization", b"origin"})
"""Headers that count only once: of two, a proxy in front might believe the other."""
PAGES = "/ui"
"""Where the pages for people are, to which others may have links."""
VERSIONS = frozenset({"1.0", "1.1"})


class Guard:
    """Checks a request's frame: its size, how its body comes, and from which page it was sent.

    ``hosts`` are the names that callers may use for this server, without ports; None allows any. They and the
    Origin keep web pages elsewhere from reaching a local server.
    """

    def __init__(self, hosts: Iterable[str] | None = None) -> None:
        self._hosts = None if hosts is None else frozenset(each.lower() for each in hosts)

    def check(self, request: Request) -> None:
        """Raises Refusal."""
        if request.scope.get("http_version", "1.1") not in VERSIONS:
            raise _malformed("this server speaks HTTP/1.1")
        headers = _headers(request)
        if len(request.path) + len(request.scope["query_string"]) > PATH_BYTES:
            raise Refusal(414, f"an address has at most {PATH_BYTES} bytes")
        _check_body(headers)
        self._check_host(headers)
        if not _is_followed(request, headers):
            _check_page(headers)

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"").decode("latin-1")
        if self._hosts is not None and bare(host) not in self._hosts:
            raise Refusal(421, "this server is not called that; say its name with --allow-host")


def known_hosts(host: str, allowed: Iterable[str] = ()) -> frozenset[str] | None:
    """The names to allow for a server bound to this host: local ones and those allowed, or any.

    A server that others can reach asks for tokens, which a page of another origin does not have; so there
    only what was said is checked.

    >>> sorted(known_hosts("127.0.0.1", ["queue.test"])), known_hosts("0.0.0.0")
    (['127.0.0.1', '[::1]', 'localhost', 'queue.test'], None)
    """
    said = frozenset(bare(each) for each in allowed)
    if is_local(host):
        return LOCAL | said | {f"[{host}]" if ":" in host else host.lower()}
    return said | LOCAL if said else None


def is_local(host: str) -> bool:
    """Whether only this machine can reach what is bound to this host.

    >>> is_local("localhost"), is_local("127.0.0.2"), is_local("::1"), is_local("0.0.0.0"), is_local("")
    (True, True, True, False, False)
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def bare(host: str) -> str:
    """A Host header's value without its port, in lower case.

    >>> bare("LOCALHOST:9999"), bare("[::1]:9999"), bare("::1")
    ('localhost', '[::1]', '::1')
    """
    name, _, port = host.lower().rpartition(":")
    whole = not name or not port.isdigit() or (":" in name and not name.endswith("]"))
    return host.lower() if whole else name


def _headers(request: Request) -> dict[bytes, bytes]:
    """The headers by name, if they are not too many, too long, or one of a kind there twice."""
    found: dict[bytes, bytes] = {}
    size, pairs = 0, request.scope["headers"]
    if len(pairs) > HEADERS:
        raise Refusal(431, f"a request has at most {HEADERS} headers")
    for name, value in pairs:
        size += len(name) + len(value)
        if name in found and name in ONCE:
            raise _malformed(f"the header {name.decode()} is there twice")
        found[name] = value
    if size > HEADER_BYTES:
        raise Refusal(431, f"the headers of a request have at most {HEADER_BYTES} bytes")
    return found


def _check_body(headers: dict[bytes, bytes]) -> None:
    """One way to tell where the body ends, and nothing in it to be unpacked."""
    length, coding = headers.get(b"content-length"), headers.get(b"transfer-encoding")
    if coding is not None and (length is not None or coding.lower() != b"chunked"):
        raise _malformed("a body comes in chunks or with its length, not both, and in no other coding")
    if length is not None and not (length.isdigit() and len(length) <= LENGTH_DIGITS):
        raise _malformed("content-length is a number")
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Refusal(415, "send the body as it is: nothing is unpacked here")


def _malformed(sentence: str) -> Refusal:
    """No, and nothing more is heard on this connection: nobody knows what the next bytes would be."""
    return Refusal(400, sentence, {"connection": "close"})


def _is_followed(request: Request, headers: dict[bytes, bytes]) -> bool:
    """Whether somebody follows a link from elsewhere to a page for people: those change nothing by a GET.

    The root is one only without a query, in which AWS's clients say what they want done.
    """
    page = request.path == "/" and not request.scope["query_string"]
    return (
        (page or request.path == PAGES or request.path.startswith(f"{PAGES}/"))
        and request.method in {"GET", "HEAD"}
        and b"origin" not in headers
        and headers.get(b"sec-fetch-mode") == b"navigate"
        and headers.get(b"sec-fetch-dest") == b"document"
    )


def _check_page(headers: dict[bytes, bytes]) -> None:
    """No page of elsewhere: browsers say where a request comes from, and programs say nothing."""
    origin, host = headers.get(b"origin"), headers.get(b"host", b"")
    foreign = origin is not None and origin.lower().partition(b"://")[2] != host.lower()
    if foreign or headers.get(b"sec-fetch-site", b"none").decode("latin-1") in ELSEWHERE:
        raise Refusal(403, "a page of another origin may not ask this server")
