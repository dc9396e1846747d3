"""A PyMySQL cursor that writes parameters into statements itself.

PyMySQL sends bytes as hexadecimal digits, twice their size, which takes the largest payload past the
server's default limit for a statement.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from pymysql.constants import SERVER_STATUS
from pymysql.cursors import Cursor
from pymysql.err import DataError

from rowmq.stores.mysql.reading import read_rows

LARGEST_STATEMENT = 8 * 2**20
"""Bytes after which an INSERT of many rows is cut, though one row may be larger."""
_ROOM = 1024
_VALUES = re.compile(r"(.*\bVALUES\s*)(\(.*?\))([^()]*)", re.DOTALL)
_LONG_LIST = 1000
_RUN = 8
"""Numbers in a row that are written as a range."""
_KEEP_LIST = b"/*M!100600 SET STATEMENT in_predicate_conversion_threshold = 0 FOR */ "
"""MariaDB would make a subquery of a list this long, and may then read, and lock, the whole table."""

Parameters = Mapping[str, Any] | Sequence[Any]


class RowCursor(Cursor):
    """Runs statements with named or numbered parameters; lists in parentheses, text from VARBINARY."""

    lock = ""
    """What stands for ``/*current*/``."""
    inserted: list[tuple[int, int]]
    """The first number given to a row, and how many rows, of each statement of the last executemany."""

    def execute(self, query: str | bytes | bytearray, args: Any = None) -> int:
        """Run one statement."""
        statement = self._written(query, args) if isinstance(query, str) else bytes(query)
        largest = self.connection.max_allowed_packet
        if len(statement) > largest - _ROOM:
            raise DataError(
                1153, f"{len(statement)} bytes do not fit the server's max_allowed_packet, {largest}"
            )
        count: int = super().execute(statement)  # type: ignore[call-overload]
        return count

    def executemany(self, query: str, args: Any) -> int:
        """Run a statement for each row of parameters, as few statements where it inserts VALUES."""
        parts = _VALUES.fullmatch(query)
        if parts is None:
            self.rowcount = sum(self.execute(query, row) for row in args)
            return self.rowcount
        total, self.inserted = 0, []
        for statement, count in self._inserts(parts, args):
            total += self.execute(statement)
            self.inserted.append((self.lastrowid, count))
        self.rowcount = total
        return total

    def _inserts(self, parts: re.Match[str], rows: Sequence[Parameters]) -> Iterator[tuple[bytes, int]]:
        """The statements that insert these rows, in order, and how many rows each of them inserts."""
        before, after = (part.encode() for part in (parts[1], parts[3]))
        limit = min(LARGEST_STATEMENT, self.connection.max_allowed_packet - _ROOM)
        values: list[bytes] = []
        size = 0
        for written in self._written_rows(parts[2], rows):
            if values and size + len(written) > limit:
                yield before + b",".join(values) + after, len(values)
                values, size = [], 0
            values.append(written)
            size += len(written) + 1
        if values:
            yield before + b",".join(values) + after, len(values)

    def _written_rows(self, row: str, rows: Sequence[Parameters]) -> Iterator[bytes]:
        """The rows as they are sent; those without names, of which there may be many, in half the time."""
        text, slashes = _as_latin(row), self._slashes()
        for values in rows:
            if isinstance(values, Mapping):
                yield self._written(row, values)
            else:
                yield (text % tuple([_quick(value, slashes) for value in values])).encode("latin-1")

    def _query(self, q: Any) -> int:
        """Send a statement, and read its rows our own way."""
        connection: Any = self.connection
        self._clear_result()  # type: ignore[attr-defined]
        connection.query(q, unbuffered=True)
        result = connection._result  # noqa: SLF001 - as PyMySQL's own cursors do
        if result.unbuffered_active:
            result.rows = read_rows(connection, result)
            result.affected_rows = len(result.rows)
        self._do_get_result()  # type: ignore[attr-defined]
        return self.rowcount

    def _written(self, query: str, args: Parameters | None) -> bytes:
        """The statement as it is sent. Bytes travel as Latin-1 until then, one character for each."""
        if args is None:
            return query.encode()
        values = args.values() if isinstance(args, Mapping) else args
        long = any(type(value) is tuple and len(value) >= _LONG_LIST for value in values)
        slashes = self._slashes()
        text = _as_latin(query.replace("/*current*/", self.lock))
        if isinstance(args, Mapping):
            written = text % _Literals(args, slashes=slashes)
        else:
            written = text % tuple(literal(value, slashes=slashes) for value in args)
        statement = written.encode("latin-1")
        return _KEEP_LIST + statement if long else statement

    def _slashes(self) -> bool:
        """Whether a backslash escapes."""
        connection: Any = self.connection
        return not connection.server_status & SERVER_STATUS.SERVER_STATUS_NO_BACKSLASH_ESCAPES


class _Literals(dict[str, str]):
    """Parameters as they stand in a statement, by name; by ``seq IN seqs`` a list as a condition."""

    def __init__(self, values: Mapping[str, Any], *, slashes: bool) -> None:
        super().__init__()
        self._values, self._slashes = values, slashes

    def __missing__(self, name: str) -> str:
        column, _, name = name.rpartition(" IN ")
        value = self._values[name]
        if column and value and type(value[0]) is int:
            return among(column, value)
        written = literal(value, slashes=self._slashes)
        return f"{column} IN {written}" if column else written


class JoinedCursor(RowCursor):
    """A cursor in a caller's transaction, whose isolation level is the caller's."""

    lock = "LOCK IN SHARE MODE"


def _as_latin(text: str) -> str:
    return text.encode().decode("latin-1")


def _quick(value: Any, slashes: bool) -> str:  # noqa: FBT001 - for every value of every row
    """A literal; most values are nothing, or whole numbers."""
    if value is None:
        return "NULL"
    return str(value) if type(value) is int else literal(value, slashes=slashes)


def literal(value: Any, *, slashes: bool) -> str:
    """A value as it stands in a statement, its UTF-8 bytes as Latin-1; ``slashes`` if a backslash escapes."""
    kind = type(value)
    if value is None:
        return "NULL"
    if kind is int:
        return str(value)
    if kind is bytes:
        return _binary(value, slashes=slashes)
    if kind is bool:
        return "1" if value else "0"
    if kind is float:
        return repr(value)
    if kind is tuple:
        if value and type(value[0]) is int:
            return "(" + ",".join(map(str, value)) + ")"
        return "(" + (",".join([literal(item, slashes=slashes) for item in value]) or "NULL") + ")"
    if isinstance(value, str):
        return "'" + _escaped(value.encode().decode("latin-1"), slashes=slashes) + "'"
    raise DataError(f"a {kind.__name__} cannot be a parameter")


def among(column: str, numbers: Sequence[int]) -> str:
    """A condition that a column is one of some whole numbers, those that follow on each other as ranges.

    What is claimed together was mostly pushed together. The server reads a range at once and looks up every
    number of a list for itself.
    """
    parts = runs(numbers)
    ranges = [f"{column} BETWEEN {run[0]} AND {run[-1]}" for run in parts if len(run) >= _RUN]
    rest = [str(number) for run in parts if len(run) < _RUN for number in run]
    if rest:
        ranges.append(f"{column} IN ({','.join(rest)})")
    return ranges[0] if len(ranges) == 1 else f"({' OR '.join(ranges)})"


def runs(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers in order, each list those that follow on each other without a gap.

    >>> runs([4, 1, 2, 7, 3, 8])
    [[1, 2, 3, 4], [7, 8]]
    """
    ordered = sorted(set(numbers))
    breaks = [at for at, (one, next) in enumerate(pairwise(ordered), 1) if next - one > 1]
    return [ordered[start:end] for start, end in pairwise([0, *breaks, len(ordered)])] if ordered else []


def _escaped(text: str, *, slashes: bool) -> str:
    doubled = text.replace("'", "''")
    return doubled.replace("\\", "\\\\") if slashes else doubled


def _binary(value: bytes, *, slashes: bool) -> str:
    """Bytes as they are; as base64 if so many had to be escaped that this is shorter."""
    escapes = value.count(b"'") + value.count(b"\\")
    if escapes * 3 > len(value):
        return f"FROM_BASE64('{b64encode(value).decode()}')"
    return "_binary'" + _escaped(value.decode("latin-1"), slashes=slashes) + "'"
