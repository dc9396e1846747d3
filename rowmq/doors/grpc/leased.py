"""Taking back what somebody holds who is gone."""

from rowmq.core.delivery import Settlement
from rowmq.core.outcome import Release, State
from rowmq.core.store import Store

PAGE = 1000


def take_back(store: Store, queue: str) -> None:
    """Let everything that is leased in a queue come again at once; nobody who has a lease there is left."""
    after: int | None = 0
    while after is not None:
        page = store.history.find(queue, state=State.LEASED, after=after, limit=PAGE)
        receipts = [store.history.receipt(each.id) for each in page.records]
        if held := [Settlement(each, Release()) for each in receipts if each is not None]:
            store.settle(held)
        after = page.after
