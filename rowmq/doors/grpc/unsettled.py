"""What a stream has sent and its client has not settled."""

from collections.abc import Iterable
from itertools import takewhile

from rowmq.core.delivery import Delivery, Receipt


class Unsettled:
    """Deliveries by their receipts as the client has them, in the order of their numbers."""

    def __init__(self) -> None:
        self._sent: dict[str, tuple[int, Delivery]] = {}
        self._last = 0
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._sent)

    def __contains__(self, text: object) -> bool:
        return text in self._sent

    def __getitem__(self, text: str) -> Receipt:
        return self._sent[text][1].receipt

    def add(self, text: str, found: Delivery) -> int:
        """One more; its number."""
        self._last += 1
        self._sent[text] = (self._last, found)
        self.bytes += len(found.body)
        return self._last

    def upto(self, number: int) -> dict[str, int]:
        """What has at most this number, and the numbers."""
        some = takewhile(lambda each: each[1][0] <= number, self._sent.items())
        return {text: number for text, (number, _) in some}

    def deliveries(self) -> list[Delivery]:
        """All of it."""
        return [found for _, found in self._sent.values()]

    def free(self, texts: Iterable[str]) -> None:
        """These are settled."""
        for text in texts:
            _, found = self._sent.pop(text, (0, None))
            self.bytes -= 0 if found is None else len(found.body)

    def clear(self) -> None:
        """Nobody will settle any of it."""
        self._sent.clear()
        self.bytes = 0
