"""How large the next batch is: less after one that failed, more again after each that did not."""


class Pace:
    """A size that is halved by failures and doubled by successes, between 1 and the largest."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self.size = largest
        """How many messages the next batch may have."""

    def slower(self) -> None:
        """The last batch failed."""
        self.slow_to(self.size // 2)

    def slow_to(self, size: int) -> None:
        """Begin again with this size."""
        self.size = max(1, min(size, self._largest))

    def faster(self) -> None:
        """The last batch was done."""
        self.size = min(2 * self.size, self._largest)
