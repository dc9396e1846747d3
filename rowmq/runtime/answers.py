"""What a handler may say besides returning: give up, come back later, not now."""

from datetime import timedelta

Seconds = float | timedelta


class Kill(Exception):
    """Raise it in a handler to bury the message at once: trying again would not help."""


class Retry(Exception):
    """Raise it in a handler to have the message come back, after so many seconds instead of the backoff."""

    def __init__(
        self, reason: str = "the handler asked for a retry", *, after: Seconds | None = None
    ) -> None:
        super().__init__(reason)
        self.after = after


class Snooze:
    """Return it from a handler to have the message come back later; the attempt does not count."""

    def __init__(self, after: Seconds) -> None:
        self.after = after
