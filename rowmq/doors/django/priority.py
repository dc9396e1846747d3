"""Django's priorities, from -100 to 100, as RowMQ's, from 0 to 9."""

MIDDLE = 4
"""What Django's 0 becomes."""
STEP_UP, STEP_DOWN = 20, 25


def as_ours(priority: int) -> int:
    """Map a priority so that the order stays, and whatever is above or below 0 stays there.

    >>> [as_ours(priority) for priority in (-100, -1, 0, 1, 20, 21, 100)]
    [0, 3, 4, 5, 5, 6, 9]
    """
    if priority > 0:
        return MIDDLE - (-priority // STEP_UP)
    return MIDDLE + (priority // STEP_DOWN)
