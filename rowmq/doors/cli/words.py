"""What users type, read: spans, moments, pairs, conditions, receipts, payloads."""

import json
import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import click

from rowmq.core.delivery import Receipt
from rowmq.core.spans import rate_of, span_of
from rowmq.core.where import Condition, Where, condition_of

if TYPE_CHECKING:  # generic only in newer clicks
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType
_RECEIPT = re.compile(r"(\d{1,19})-((?:[0-9a-f]{2}){16,2048})")  # longer ones are a server's


class Nothing:
    """What ``none`` means where a setting may be unset: None itself is what was not said."""

    def __repr__(self) -> str:
        return "none"


NOTHING = Nothing()


class Span(ParamType):
    """Seconds, or ``500ms``, ``30s``, ``5m``, ``2h``, ``1d``, ``1h30m``."""

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """The span, or a clear word."""
        if isinstance(value, timedelta):
            return value
        try:
            return span_of(value)
        except ValueError:
            self.fail(f"{value!r} is not a span; write seconds, or 500ms, 30s, 5m, 2h, 1d, 1h30m", param, ctx)


class Maybe(ParamType):
    """Another type, or the word ``none``."""

    def __init__(self, inner: Any) -> None:
        self.inner = click.types.convert_type(inner)
        self.name = f"{self.inner.name}|none"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value, or NOTHING."""
        return NOTHING if value in ("none", NOTHING) else self.inner.convert(value, param, ctx)


class Moment(ParamType):
    """An ISO 8601 time with a zone, or a span from now (or before now, where the past is asked for)."""

    name = "moment"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime | timedelta:
        """A moment, or how far from now."""
        if isinstance(value, datetime | timedelta):
            return value
        try:
            return span_of(value)
        except ValueError:
            return self._absolute(value, param, ctx)

    def _absolute(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not a time; write 2026-05-01T09:00Z, or a span such as 2h", param, ctx)
        if moment.tzinfo is None:
            self.fail(f"{value} has no time zone; write {value}Z for UTC, or {value}+02:00", param, ctx)
        return moment


class Pair(ParamType):
    """``KEY=VALUE``."""

    name = "key=value"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Key and value; the value may have more equal signs."""
        if isinstance(value, tuple):
            return value
        key, equals, rest = value.partition("=")
        if not key or not equals:
            self.fail(f"{value!r} is not KEY=VALUE", param, ctx)
        return key, rest


class Meets(ParamType):
    """A condition on metadata: ``KEY=VALUE``, ``KEY!=VALUE``, or ``KEY`` for any value."""

    name = "condition"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Condition:
        """The condition."""
        if isinstance(value, Condition):
            return value
        found = condition_of(value)
        if found is None:
            self.fail(f"{value!r} is not KEY=VALUE, KEY!=VALUE or KEY", param, ctx)
        return found


class ReceiptText(ParamType):
    """What ``rowmq claim`` printed as the receipt."""

    name = "receipt"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Receipt:
        """The receipt."""
        if isinstance(value, Receipt):
            return value
        found = _RECEIPT.fullmatch(value)
        if found is None:
            self.fail(f"{value!r} is not a receipt; rowmq claim prints one for each message", param, ctx)
        return Receipt(int(found[1]), bytes.fromhex(found[2]))


class RateText(ParamType):
    """``100/1s``: so many messages in such a time."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Messages and period, as a client takes them."""
        if isinstance(value, tuple):
            return value
        try:
            return rate_of(value)
        except ValueError:
            self.fail(f"{value!r} is not a rate; write 100/s, or 1000/5m", param, ctx)


SPAN, MOMENT, PAIR, MEETS, RECEIPT, RATE = Span(), Moment(), Pair(), Meets(), ReceiptText(), RateText()


def one_of(choices: type[StrEnum]) -> "click.Choice[str]":
    """One of the values of an enumeration, as they are stored and shown."""
    return click.Choice([each.value for each in choices])


def moment_at(said: datetime | timedelta | None, now: datetime, *, back: bool = False) -> datetime | None:
    """A moment that was said, maybe as a span from or before now."""
    if said is None or isinstance(said, datetime):
        return said
    try:
        return now - said if back else now + said
    except OverflowError:
        raise click.BadParameter(f"{said} from now is no time that a calendar has") from None


def receipt_text(receipt: Receipt) -> str:
    """A receipt as it is printed and typed."""
    return f"{receipt.seq}-{receipt.token.hex()}"


def all_of(conditions: Iterable[Condition]) -> Where:
    """The conditions together; several values for one key mean one of them."""
    equal: dict[str, list[str]] = {}
    others = []
    for each in conditions:
        if each.operator == "=":
            equal.setdefault(each.key, []).append(each.values[0])
        else:
            others.append(each)
    return (*(Condition(key, "in", tuple(values)) for key, values in equal.items()), *others)


def json_value(text: str) -> Any:
    """A JSON value from an argument."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"this is not JSON: {error}") from None
