"""Addresses of pages: the one place where names, which may be any text, become parts of them."""

from urllib.parse import quote, urlencode

ROOT = "/ui"
MARK = "~"
DOTS = frozenset({".", ".."})


def link(*parts: object, **query: object) -> str:
    """The address of a page, from the parts of its path and the fields of its query; None is left out.

    >>> link("queues", "a/b", "dead", q="x y", after=None)
    '/ui/queues/a%2Fb/dead?q=x+y'
    """
    path = "/".join([ROOT, *(quote(_written(str(part)), safe="") for part in parts)])
    said = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(said, doseq=True)}" if said else path


def _written(part: str) -> str:
    """A name as it stands in a path: browsers take a part that is ``.`` or ``..``, however it is encoded,
    for a step up, so those have a mark before them, and so has what begins with the mark.
    """  # noqa: D205 - one sentence
    return MARK + part if part in DOTS or part.startswith(MARK) else part


def name_of(part: str) -> str:
    """The name that a part of a path stands for.

    >>> name_of(link("queues", "..").rpartition("/")[2])
    '..'
    """
    return part.removeprefix(MARK)
