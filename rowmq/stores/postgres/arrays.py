"""Lists of one type, sent in binary without a look at each element."""

import struct
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any
from uuid import UUID

import psycopg
from psycopg import pq
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Dumper


class ArrayDumper(Dumper):
    """Sends a list that is known to be of one type and without None; psycopg's own has to find that out."""

    format = pq.Format.BINARY
    element: int
    packed: Callable[[Any], bytes]

    def dump(self, obj: Sequence[Any]) -> Buffer:
        """One dimension, counted from 1, without NULL; then each element behind its length."""
        each = [_LENGTH.pack(len(value)) + value for value in map(type(self).packed, obj)]
        return _HEAD.pack(1, 0, self.element, len(obj), 1) + b"".join(each)


_HEAD, _LENGTH = struct.Struct("!iiIii"), struct.Struct("!i")
_PACKED: dict[type, tuple[str, Callable[[Any], bytes]]] = {
    int: ("int8", struct.Struct("!q").pack),
    bool: ("bool", struct.Struct("!?").pack),
    bytes: ("bytea", bytes),
    UUID: ("uuid", attrgetter("bytes")),
}


def _dumper(name: str, packed: Callable[[Any], bytes]) -> type[ArrayDumper]:
    known = psycopg.adapters.types[name]
    said = {"oid": known.array_oid, "element": known.oid, "packed": staticmethod(packed)}
    return type(f"{name}_array", (ArrayDumper,), said)


_ARRAYS = {kind: type(f"{name}s", (list,), {}) for kind, (name, _) in _PACKED.items()}
"""A list of its own for each type, by which psycopg finds the dumper."""
_DUMPERS = {_ARRAYS[kind]: _dumper(name, packed) for kind, (name, packed) in _PACKED.items()}


def array(values: Sequence[Any]) -> list[Any]:
    """A list that is sent fast if all of its elements are of one type that is common here."""
    kinds = set(map(type, values))
    made: list[Any] = _ARRAYS.get(kinds.pop(), list)(values) if len(kinds) == 1 else list(values)
    return made


def adapt_arrays(context: AdaptContext) -> None:
    """Let a connection or a cursor send them."""
    for kind, dumper in _DUMPERS.items():
        context.adapters.register_dumper(kind, dumper)
