"""The SQS protocol, and the part of SNS that goes with it."""

from rowmq.doors.http.sqs.door import family
from rowmq.doors.http.sqs.settings import Settings

__all__ = ["Settings", "family"]
