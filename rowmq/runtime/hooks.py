"""Calling the hooks of middleware."""

from collections.abc import Sequence
from typing import Any

from rowmq.runtime.log import event, logger
from rowmq.runtime.middleware import Middleware, overriding


class Hooks:
    """The hooks of several middlewares, each list made once and holding only those that override it."""

    def __init__(self, middleware: Sequence[Middleware]) -> None:
        self._middleware = middleware
        self._known: dict[str, list[Middleware]] = {}

    def of(self, hook: str) -> list[Middleware]:
        """Those that override a hook."""
        if hook not in self._known:
            self._known[hook] = overriding(self._middleware, hook)
        return self._known[hook]

    def tell(self, hook: str, *args: Any) -> None:
        """Call a hook that only watches: one that fails is logged, and changes nothing."""
        for each in self.of(hook):
            try:
                getattr(each, hook)(*args)
            except Exception as error:  # noqa: BLE001 - whoever watches must not change what happens
                event(logger, "error", "middleware.failed", hook=hook, exc_info=error)
