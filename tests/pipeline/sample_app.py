"""A client that leaves its URL to its surroundings, as an application has one."""

import rowmq
from rowmq.runtime.claimed import ClaimedMessage

mq = rowmq.connect()


@mq.handler("letters")
def read(message: ClaimedMessage) -> None:
    """Refuse an empty letter."""
    if not message.payload:
        raise rowmq.Kill("it is empty")
