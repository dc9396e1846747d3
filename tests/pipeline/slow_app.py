"""A client whose handler takes as long as its message says."""

import time

import rowmq
from rowmq.runtime.claimed import ClaimedMessage

mq = rowmq.connect()


@mq.handler("slow")
def wait(message: ClaimedMessage) -> None:
    """Take that many seconds."""
    time.sleep(message.payload)
