"""Numbers, times and names as people read them: the filters of the pages."""

import unicodedata
from datetime import UTC, datetime, timedelta
from hashlib import blake2s

from rowmq.core.monitor import MOST_COUNTED

NOTHING = "-"
STEPS = ((86_400.0, "d", 3_600.0, "h"), (3_600.0, "h", 60.0, "min"), (60.0, "min", 1.0, "s"))
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
KILO = 1024
HIDDEN = frozenset({"Cf", "Cc", "Cs", "Co", "Cn", "Zl", "Zp"})


def count(number: int | None, more: bool = False) -> str:  # noqa: FBT001, FBT002 - a filter's second word
    """How many, with commas; what was counted no further, or may be ``more``, has a plus.

    >>> count(12345), count(250_000), count(7, True), count(None)
    ('12,345', '250,000+', '7+', '-')
    """
    if number is None:
        return NOTHING
    return f"{number:,}+" if more or number >= MOST_COUNTED else f"{number:,}"


def total(number: int | None) -> str:
    """How many, of what is always counted to the end.

    >>> total(1_000_000)
    '1,000,000'
    """
    return NOTHING if number is None else f"{number:,}"


def took(span: timedelta | None) -> str:
    """A span of time, to two or three digits.

    >>> [took(timedelta(seconds=each)) for each in (0, 0.00042, 0.034, 1.234, 75, 3700, 200000)]
    ['0 s', '420 µs', '34 ms', '1.23 s', '1 min 15 s', '1 h 1 min', '2 d 7 h']
    """
    if span is None:
        return NOTHING
    seconds = span.total_seconds()
    if seconds < 0:
        return f"-{took(-span)}"
    for large, name, small, rest in STEPS:
        if round(seconds) >= large:
            return _two(round(seconds), (large, name), (small, rest))
    return _short(seconds)


def about(span: timedelta | None) -> str:
    """A span that is known to within a tenth, to two digits.

    >>> about(timedelta(milliseconds=21.4)), about(timedelta(seconds=1.26)), about(timedelta(seconds=75))
    ('21 ms', '1.3 s', '1 min 15 s')
    """
    if span is None or not span or span >= timedelta(minutes=1):
        return took(span)
    return took(timedelta(seconds=float(f"{span.total_seconds():.2g}")))


def age(span: timedelta | None) -> str:
    """How long something has waited: to the second, because it goes on.

    >>> age(timedelta(seconds=8.66)), age(timedelta(seconds=0.3)), age(None)
    ('8 s', '0 s', '-')
    """
    return took(None if span is None else timedelta(seconds=span // timedelta(seconds=1)))


def _two(seconds: float, large: tuple[float, str], small: tuple[float, str]) -> str:
    whole, left = divmod(seconds, large[0])
    rest = int(left // small[0])
    return f"{whole:.0f} {large[1]}" + (f" {rest} {small[1]}" if rest else "")


def _short(seconds: float) -> str:
    if seconds >= 1 or not seconds:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"  # noqa: PLR2004


def ago(moment: datetime | None, now: datetime) -> str:
    """When that was, or will be, seen from now.

    >>> now = datetime(2026, 5, 1, tzinfo=UTC)
    >>> ago(now - timedelta(seconds=90), now), ago(now + timedelta(hours=2), now), ago(now, now)
    ('1 min 30 s ago', 'in 2 h', 'now')
    """
    if moment is None:
        return NOTHING
    span = timedelta(seconds=round((now - moment).total_seconds()))
    if not span:
        return "now"
    return f"{took(span)} ago" if span > timedelta(0) else f"in {took(-span)}"


def moment(when: datetime | None) -> str:
    """A moment in UTC.

    >>> moment(datetime(2026, 5, 1, 12, 30, tzinfo=UTC))
    '2026-05-01 12:30:00'
    """
    return NOTHING if when is None else f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def size(number: int | None) -> str:
    """So many bytes.

    >>> size(512), size(1536), size(None)
    ('512 B', '1.5 KiB', '-')
    """
    if number is None:
        return NOTHING
    value, unit = float(number), 0
    while value >= KILO and unit < len(UNITS) - 1:
        value, unit = value / KILO, unit + 1
    return f"{value:.4g} {UNITS[unit]}"


def visible(text: str) -> str:
    """Text in which nothing hides: characters that show nothing, or turn others round, are named.

    >>> visible("a\u202eb"), visible("plain")
    ('a⟨U+202E⟩b', 'plain')
    """
    if text.isprintable():
        return text
    return "".join(f"⟨U+{ord(each):04X}⟩" if unicodedata.category(each) in HIDDEN else each for each in text)


def key(name: str) -> str:
    """What the elements of a queue, or of anything else that has a name, have in their ids.

    >>> key("emails") == key("emails") != key("orders")
    True
    """
    return "k" + blake2s(name.encode(), digest_size=8).hexdigest()


FILTERS = {
    "count": count,
    "total": total,
    "took": took,
    "about": about,
    "age": age,
    "moment": moment,
    "size": size,
    "visible": visible,
    "key": key,
}
