"""Rows of a result as the server sends them, made into tuples.

PyMySQL calls four functions for every value, and a claim of a thousand messages has twenty thousand values.
It gives VARBINARY as bytes, where all of ours hold text.
"""

from collections.abc import Callable, Sequence
from typing import Any

from pymysql.constants import FIELD_TYPE

_NUMBERS = (FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG, FIELD_TYPE.LONGLONG)
_NULL = 251
_SIZES = {252: 2, 253: 3, 254: 8}
"""How many bytes of a size follow this one; any other below 251 is the size itself."""
_END, _SHORT = 254, 9

Maker = Callable[[bytes], Any]
Row = tuple[Any, ...]


def read_rows(connection: Any, result: Any) -> list[Row]:
    """What is left of a result whose columns have been read."""
    makers = [
        _maker(column[1], *said) for column, said in zip(result.description, result.converters, strict=True)
    ]
    rows: list[Row] = []
    try:
        while True:
            packet = connection._read_packet()  # noqa: SLF001 - there is no other way to a packet
            data = packet.get_all_data()
            if data[0] == _END and len(data) < _SHORT:
                result._check_packet_is_eof(packet)  # noqa: SLF001
                return rows
            rows.append(_row(data, makers))
    finally:
        result.unbuffered_active, result.connection = False, None


def _row(data: bytes, makers: Sequence[Maker]) -> Row:
    values: list[Any] = []
    at = 0
    for make in makers:
        size = data[at]
        at += 1
        if size == _NULL:
            values.append(None)
            continue
        if size > _NULL:
            start, at = at, at + _SIZES[size]
            size = int.from_bytes(data[start:at], "little")
        end = at + size
        values.append(make(data[at:end]))
        at = end
    return tuple(values)


def _maker(kind: int, encoding: str | None, converter: Callable[[Any], Any] | None) -> Maker:
    """What makes a value of a column, from what PyMySQL would."""
    if kind in _NUMBERS:
        return int
    if kind == FIELD_TYPE.VAR_STRING:
        return bytes.decode
    if encoding is None:
        return converter or bytes
    return lambda data: converter(data.decode(encoding)) if converter else data.decode(encoding)
