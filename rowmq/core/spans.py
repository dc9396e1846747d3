"""Lengths of time as people write them: ``30s``, ``1h30m``, or seconds alone."""

import re
from datetime import timedelta

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_SPAN = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+|\d+(?:\.\d+)?", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw]?)", re.ASCII)
_RATE = re.compile(r"(\d+)/(.+)", re.ASCII)


def span_of(text: str) -> timedelta:
    """A span from text; raises ValueError.

    >>> span_of("1h30m"), span_of("90")
    (datetime.timedelta(seconds=5400), datetime.timedelta(seconds=90))
    """
    stripped = text.strip().lower()
    if not _SPAN.fullmatch(stripped):
        raise ValueError(text)
    try:
        return timedelta(seconds=sum(float(n) * UNITS[unit or "s"] for n, unit in _PART.findall(stripped)))
    except OverflowError:
        raise ValueError(text) from None


def written(span: timedelta) -> str:
    """A span as it can be typed again, to the microsecond; the reverse of :func:`span_of`.

    >>> written(timedelta(days=7)), written(timedelta(seconds=90.5)), written(timedelta(milliseconds=20))
    ('7d', '1m30.5s', '20ms')
    """
    hours, seconds = divmod(span.seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    parts = [f"{count}{unit}" for count, unit in ((span.days, "d"), (hours, "h"), (minutes, "m")) if count]
    if seconds:
        parts.append(f"{_decimal(seconds, span.microseconds, 6)}s")
    elif span.microseconds:
        parts.append(f"{_decimal(*divmod(span.microseconds, 1000), 3)}ms")
    return "".join(parts) or "0s"


def rate_of(text: str) -> tuple[int, timedelta]:
    """So many in such a time, from ``100/s`` or ``1000/5m``; raises ValueError.

    >>> rate_of("100/s")
    (100, datetime.timedelta(seconds=1))
    """
    found = _RATE.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    limit, period = found.groups()
    return int(limit), span_of(period if period[0].isdigit() else f"1{period}")


def _decimal(whole: int, fraction: int, digits: int) -> str:
    return f"{whole}.{fraction:0{digits}}".rstrip("0").rstrip(".")
