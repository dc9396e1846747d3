"""The level below the client: stores, batches, wants, receipts and outcomes, as every door uses them."""

from rowmq.core.delivery import Adopted, Claim, Delivery, Membership, Receipt, Settlement, Want
from rowmq.core.history import Page
from rowmq.core.message import Batch, Message, Pushed
from rowmq.core.outcome import Ack, Bury, Failure, Outcome, Release, Retry, Settled, decide
from rowmq.core.store import Store
from rowmq.stores import open_store
from rowmq.stores.fresh import message

__all__ = [
    "Ack",
    "Adopted",
    "Batch",
    "Bury",
    "Claim",
    "Delivery",
    "Failure",
    "Membership",
    "Message",
    "Outcome",
    "Page",
    "Pushed",
    "Receipt",
    "Release",
    "Retry",
    "Settled",
    "Settlement",
    "Store",
    "Want",
    "decide",
    "message",
    "open_store",
]
