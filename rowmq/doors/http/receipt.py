"""Receipts on the wire: the same at all doors."""

from rowmq.doors.receipt import Opened, Seal

__all__ = ["Opened", "Seal"]
