"""Who may do what: decided in one place for all doors."""

from rowmq.doors.right import ANYBODY, EVERYTHING, Principal, Right

__all__ = ["ANYBODY", "EVERYTHING", "Principal", "Right"]
