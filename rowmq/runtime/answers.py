"""What a handler may say besides returning: give up, come back later, not now."""

from datetime import timedelta

Seconds = float | timedelta


class Kill(Exception):
    """Raise it in a handler to bury the message at once: trying again would not help.

    >>> from rowmq import Kill, testing
    >>> mq = testing.connect()
    >>> @mq.handler("emails")
    ... def send(message):
    ...     raise Kill("no such address")
    >>> id = mq.queue("emails").push({"to": "nobody"})
    >>> [ran] = testing.drain(mq)
    >>> mq.get(id).state.value, mq.failures(id)[0].error
    ('dead', 'no such address')
    """


class Retry(Exception):
    """Raise it in a handler to have the message come back, after so many seconds instead of the backoff.

    >>> from rowmq import Retry, testing
    >>> mq = testing.connect()
    >>> @mq.handler("emails")
    ... def send(message):
    ...     raise Retry("the server is busy", after=30)
    >>> id = mq.queue("emails").push({"to": "ada"})
    >>> [ran] = testing.drain(mq)
    >>> ran.outcome.delay
    datetime.timedelta(seconds=30)
    """

    def __init__(
        self, reason: str = "the handler asked for a retry", *, after: Seconds | None = None
    ) -> None:
        super().__init__(reason)
        self.after = after


class Snooze:
    """Return it from a handler to have the message come back later; the attempt does not count.

    >>> from rowmq import Snooze, testing
    >>> mq = testing.connect()
    >>> @mq.handler("emails")
    ... def send(message):
    ...     return Snooze(after=3600)
    >>> id = mq.queue("emails").push({"to": "ada"})
    >>> [ran] = testing.drain(mq)
    >>> mq.get(id).state.value, mq.get(id).attempts
    ('scheduled', 0)
    """

    def __init__(self, after: Seconds) -> None:
        self.after = after
