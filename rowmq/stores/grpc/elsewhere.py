"""What a store over gRPC leaves to the server, and what it cannot do."""

from datetime import datetime
from typing import Any, NoReturn

from rowmq.core.errors import Unsupported
from rowmq.core.history import Swept


class Elsewhere:
    """A role of the store that has no calls over gRPC: everything in it is Unsupported."""

    def __init__(self, role: str) -> None:
        self._role = role

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        refuse(f"{self._role}.{name}")


class Schedules(Elsewhere):
    """The server fires schedules."""

    def list(self, **_: Any) -> list[Any]:
        """None that a worker here would have to fire."""
        return []


class History(Elsewhere):
    """The server sweeps."""

    def sweep(self, **_: Any) -> Swept:
        """Do nothing: it is done there."""
        return Swept(0, 0, 0, False)  # noqa: FBT003 - its fields have names


def refuse(what: str) -> NoReturn:
    """Say that it cannot be done over gRPC."""
    raise Unsupported(f"{what} cannot be done over gRPC; connect to the server's http:// address for it")


def refuse_clock(now: datetime | None) -> None:
    """Refuse a clock of the caller's."""
    if now is not None:
        refuse("another clock than the store's")


def refuse_transaction(tx: object) -> None:
    """Refuse a transaction of the caller's."""
    if tx is not None:
        raise Unsupported("a store behind a server cannot join a transaction: call it without tx")
