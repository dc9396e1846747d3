"""Two stores that are told the same at the same moments, and must answer the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rowmq.core.delivery import Adopted, Claim, Delivery, Receipt
from rowmq.core.errors import RowMQError
from rowmq.core.message import Pushed
from rowmq.stores.memory import MemoryStore
from rowmq.testing.build import T0, everything

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime
    from uuid import UUID

    from rowmq.core.store import Store
    from tests.stores.places import Place


@dataclass
class Twin:
    """One of the two stores, and what it alone has handed out.

    Things that mean the same have the same place in ``receipts``, or the same name.
    """

    store: Store
    receipts: list[Receipt] = field(default_factory=list)
    claims: dict[str, Claim] = field(default_factory=dict)
    seqs: dict[UUID, int] = field(default_factory=dict)
    ids: dict[int, UUID] = field(default_factory=dict)

    def taken(self, deliveries: Iterable[Delivery]) -> list[object]:
        """Keep the receipts, and return what the other store's deliveries must be equal to."""
        plain: list[object] = []
        for delivery in deliveries:
            assert self.ids[delivery.receipt.seq] == delivery.id
            self.receipts.append(delivery.receipt)
            plain.append(delivery._replace(seq=0, token=b""))
        return plain

    def named(self, name: str | None, deliveries: list[Delivery]) -> list[object]:
        """Keep the token of a named claim as well."""
        if name is not None and deliveries:
            self.claims[name] = Claim(name, deliveries[0].receipt.token)
        return self.taken(deliveries)

    def adopted(self, adopted: Adopted | None) -> object:
        """Keep the token of an adopted claim."""
        if adopted is None:
            return None
        self.claims[adopted.claim.name] = adopted.claim
        return adopted.runs, self.taken(adopted.deliveries)

    def pushed(self, answers: Iterable[Pushed | RowMQError]) -> list[object]:
        """Keep the seqs of what was pushed, and return ids in their place."""
        return [self._pushed(answer) for answer in answers]

    def _pushed(self, answer: Pushed | RowMQError) -> object:
        if isinstance(answer, RowMQError):
            return type(answer)
        for place, (id_, seq) in enumerate(zip(answer.ids, answer.seqs, strict=True)):
            if place not in answer.seen:
                self.seqs[id_], self.ids[seq] = seq, id_
        return list(answer.ids), [self.ids[seq] for seq in answer.seqs], answer.seen

    def learn(self, now: datetime) -> None:
        """Keep the seqs of messages that appeared without an answer that names them."""
        for found in everything(self.store, now=now):
            self.seqs[found.id], self.ids[found.seq] = found.seq, found.id


class Twins:
    """The store under test, and the store in memory that says what is right."""

    def __init__(self, place: Place) -> None:
        self.now = T0
        self.agreed = True
        self.memory = MemoryStore()
        self.real, self.model = Twin(place.open()), Twin(self.memory)
        self._place = place
        self._highest = 0

    def close(self) -> None:
        """Close both."""
        self._place.close(self.real.store)
        self.memory.close()

    def agree(self, call: Callable[[Twin], object], *, adds: bool = False) -> None:
        """Tell both, and compare their answers; ``adds`` if there may be new messages."""
        real = _answer(call, self.real)
        if adds:
            self._align()
        model = _answer(call, self.model)
        self.agreed = real == model
        assert real == model, f"the store answers {real}\nand the model  {model}"

    def aligned(self) -> bool:
        """Whether both have given every message the same seq."""
        return self.real.seqs == self.model.seqs

    def _align(self) -> None:
        """Let the model count on from the real store's seqs, because they decide consumers' shares.

        A database may leave out some of them.
        """
        _, highest = self.real.store.history.bounds()
        if highest > self._highest:
            fresh = self.real.store.history.scan(self._highest + 1, highest, now=self.now)
            if fresh:
                self.memory.tables.last_seq = max(self.memory.tables.last_seq, fresh[0].seq - 1)
            self._highest = highest


def _answer(call: Callable[[Twin], object], twin: Twin) -> object:
    try:
        return call(twin)
    except RowMQError as error:
        return type(error)
