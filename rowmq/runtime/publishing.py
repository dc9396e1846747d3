"""Publishing for many callers at once: one call of the store for each topic."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rowmq.core.errors import OutcomeUnknown, StoreUnavailable
from rowmq.core.message import Message
from rowmq.core.store import Store

ROWS = 20_000
"""How many copies one call may make, as far as that can be told, unless a single caller wants more."""
TOPICS = 10_000
"""How many topics are known by how many queues they reach."""
Batches = Mapping[int, Sequence[Message]]
"""What each caller wants published, by its place."""


class Publishing:
    """Publishes what many callers asked for; each is answered with a count of queues or an error."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._reach: dict[str, int] = {}

    def __call__(self, asked: Sequence[tuple[str, Sequence[Message]]]) -> list[Any]:
        """One answer for each. Callers of one topic share a call, those of another do not suffer from it."""
        topics: dict[str, dict[int, Sequence[Message]]] = {}
        for place, (topic, messages) in enumerate(asked):
            topics.setdefault(topic, {})[place] = messages
        answers: dict[int, Any] = {}
        for topic, batches in topics.items():
            for some in self._parts(topic, batches):
                answers |= self._publish(topic, some)
        return [answers[place] for place in range(len(asked))]

    def _parts(self, topic: str, batches: Batches) -> Iterator[Batches]:
        """The batches, as many at once as make a call of bearable size."""
        room = ROWS // max(1, self._reach.get(topic, 1))
        part: dict[int, Sequence[Message]] = {}
        for place, messages in batches.items():
            if part and sum(map(len, part.values())) + len(messages) > room:
                yield part
                part = {}
            part[place] = messages
        yield part

    def _publish(self, topic: str, batches: Batches) -> dict[int, Any]:
        """Publish together; what is refused, each alone, so that one bad message hurts only its sender."""
        try:
            count = self._store.topics.publish(topic, [each for batch in batches.values() for each in batch])
        except (StoreUnavailable, OutcomeUnknown) as error:
            return dict.fromkeys(batches, error)
        except Exception as error:  # noqa: BLE001 - whatever it is, its caller gets it
            if len(batches) == 1:
                return dict.fromkeys(batches, error)
            return {place: self._publish(topic, {place: batch})[place] for place, batch in batches.items()}
        if len(self._reach) >= TOPICS:
            self._reach.clear()
        self._reach[topic] = count
        return dict.fromkeys(batches, count)
