"""Texts too long to be shown, cut: both ends of them count."""

GAP = "\n…\n"
"""What stands where something was left out."""


def half_of(longest: int) -> int:
    """How much of each end is kept of a text that may be so long.

    >>> half_of(103)
    50
    """
    return (longest - len(GAP)) // 2


def cut(text: str, longest: int) -> str:
    r"""The beginning and the end of a text that is too long, with a gap between them.

    What was called is at the one end of a traceback, and what went wrong at the other.

    >>> cut("abcdefghij", 7), cut("short", 7)
    ('ab\n…\nij', 'short')
    """
    half = half_of(longest)
    return text if len(text) <= longest else f"{text[:half]}{GAP}{text[-half:]}"
