"""RowMQ's own API, /v1: everything a store can do, in JSON."""

from rowmq.doors.http.native import claims, consumers, history, messages, queues, schedules, store, topics
from rowmq.doors.http.problem import refuse
from rowmq.doors.http.route import Family

ROLES = (queues, messages, claims, topics, consumers, schedules, history, store)


def family() -> Family:
    """The routes of the native API."""
    return Family("native", [route for role in ROLES for route in role.ROUTES], refuse, "/v1/")


__all__ = ["family"]
