"""Messages in bulk, on Spark: read, streamed, written, archived, measured and replayed."""

from rowmq.pipeline.handler import handled
from rowmq.pipeline.registration import register
from rowmq.pipeline.session import session

__all__ = ["handled", "register", "session"]
