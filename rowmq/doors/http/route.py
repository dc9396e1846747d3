"""The routes: what the server can be asked, how the question is read, and who may ask."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rowmq.doors.http.answer import JSON, Answer
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.request import Request
from rowmq.doors.right import Principal, Right

BODY_LIMIT = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path.

    ``right`` is needed on the queue or topic that the path names under ``over``; without ``over`` it is
    needed everywhere, unless ``late``: then the endpoint itself asks, once it knows whom about. ``open``
    routes are for everybody. ``query`` and ``body`` are msgspec types that the request is read as, ``gives``
    the one answered with; the endpoint's docstring describes it.
    """

    method: str
    path: str
    endpoint: "Callable[[Any], Awaitable[Answer]]"
    right: Right | None
    over: str | None = None
    late: bool = False
    open: bool = False
    signed: bool = False
    """Whether callers sign their requests as AWS's do, instead of showing a token."""
    known: "Callable[[Any, Request], Principal] | None" = None
    """How it tells who asks, given the broker, if not by a token; raises Refusal 401."""
    query: Any = None
    body: Any = None
    gives: Any = None
    status: int = 200
    reads: str = JSON
    writes: str = JSON
    """The media types of what it is asked and answers with."""
    refuses: Sequence[int] = ()
    limit: int = BODY_LIMIT
    lasts: bool = False
    """Whether it may take as long as it says itself, the server's request timeout notwithstanding."""
    consumes: bool = False
    """Whether a GET changes something, so that HEAD is no GET without a body."""


@dataclass(frozen=True, slots=True)
class Family:
    """Routes that speak the same language: how they read what they are given and say no."""

    name: str
    routes: Sequence[Route]
    refuse: Callable[[Exception], Answer]
    """The answer to a Refusal, a RowMQError, or anything unexpected (without saying what)."""
    prefix: str | None = None
    """What all its paths begin with, and nobody else's: so it says no also where there is no route."""
    refuse_in_kind: "Callable[[Request, Exception], Answer] | None" = None
    """The same as ``refuse``, of a family that speaks more than one language: in that of the request."""
    front: str | None = None
    """The page that a browser sees which asks for the server's root."""
    name_of: Callable[[str], str] = str
    """The name that a part of a path stands for."""

    def refusal(self, request: Request, error: Exception) -> Answer:
        """No, to this request."""
        return self.refuse(error) if self.refuse_in_kind is None else self.refuse_in_kind(request, error)


@dataclass(slots=True)
class _Node:
    literals: "dict[str, _Node]" = field(default_factory=dict)
    other: "_Node | None" = None
    methods: "dict[str, tuple[Family, Route, list[tuple[int, str]]]]" = field(default_factory=dict)


class Router:
    """Finds the route of a path, segment by segment; a literal goes before a name."""

    def __init__(self, families: Iterable[Family]) -> None:
        self.families = list(families)
        self._root = _Node()
        for family in self.families:
            for route in family.routes:
                self._add(family, route)

    @property
    def routes(self) -> list[Route]:
        """Every route."""
        return [route for family in self.families for route in family.routes]

    @property
    def front(self) -> list[str] | None:
        """The page for browsers that ask for the root, part by part, if there is one."""
        return next((each.front.split("/")[1:] for each in self.families if each.front), None)

    def family_at(self, path: str) -> Family | None:
        """The family whose prefix a path begins with."""
        return next((each for each in self.families if each.prefix and path.startswith(each.prefix)), None)

    def find(self, method: str, parts: Sequence[str]) -> tuple[Family, Route, dict[str, str]]:
        """The family, the route and the values of its path's names. Raises Refusal 404 or 405."""
        node = _walk(self._root, parts, 0)
        if node is None:
            raise Refusal(404, "there is nothing at this path; /docs lists what there is")
        found = node.methods.get(method) or self._as_head(method, node)
        if found is None:
            raise Refusal(
                405, f"this path does not take {method}", {"allow": ", ".join(sorted(node.methods))}
            )
        family, route, names = found
        return family, route, {name: family.name_of(parts[place]) for place, name in names}

    def _as_head(self, method: str, node: _Node) -> tuple[Family, Route, list[tuple[int, str]]] | None:
        found = node.methods.get("GET") if method == "HEAD" else None
        return None if found is None or found[1].consumes else found

    def _add(self, family: Family, route: Route) -> None:
        node, names = self._root, []
        for place, part in enumerate(route.path.split("/")[1:]):
            if part.startswith("{"):
                names.append((place, part[1:-1]))
                node.other = node = node.other or _Node()
            else:
                node = node.literals.setdefault(part, _Node())
        node.methods[route.method] = (family, route, names)


def _walk(node: _Node, parts: Sequence[str], place: int) -> _Node | None:
    if place == len(parts):
        return node if node.methods else None
    literal = node.literals.get(parts[place])
    found = None if literal is None else _walk(literal, parts, place + 1)
    if found is not None:
        return found
    return None if node.other is None or not parts[place] else _walk(node.other, parts, place + 1)
