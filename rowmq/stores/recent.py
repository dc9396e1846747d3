"""What was noted last, by its name, of any number of names: the one noted longest ago is forgotten first."""

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")
MOST = 10_000


class Recent(Generic[K, V]):
    """Notes about a bounded number of names. Threads may share it."""

    def __init__(self, most: int = MOST) -> None:
        self._notes: OrderedDict[K, V] = OrderedDict()
        self._most = most

    def __len__(self) -> int:
        return len(self._notes)

    def note(self, name: K, value: V) -> None:
        """Note it, and forget another if there are too many."""
        self._notes.pop(name, None)
        self._notes[name] = value
        if len(self._notes) > self._most:
            self._notes.popitem(last=False)

    def get(self, name: K, otherwise: V) -> V:
        """What was noted last."""
        return self._notes.get(name, otherwise)

    def pop(self, name: K, otherwise: V) -> V:
        """The same, and it is forgotten."""
        return self._notes.pop(name, otherwise)
