"""What the roles of the store have in common: the same tables, one caller at a time."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from rowmq.core.errors import Unsupported
from rowmq.stores.memory.tables import Tables


class Role:
    """A part of the store, working on the tables that all its parts share."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables


R = TypeVar("R", bound=Role)
P = ParamSpec("P")
T = TypeVar("T")


def atomic(method: Callable[Concatenate[R, P], T]) -> Callable[Concatenate[R, P], T]:
    """Let a method have the tables to itself, while the store is open."""

    @wraps(method)
    def alone(self: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self.tables.lock:
            self.tables.check_open()
            return method(self, *args, **kwargs)

    return alone


def refuse_transaction(tx: object) -> None:
    """Raise Unsupported if the caller brought a transaction."""
    if tx is not None:
        raise Unsupported("a memory store cannot join a transaction: call it without tx")
