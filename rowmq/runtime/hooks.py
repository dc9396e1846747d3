"""Calling the hooks of middleware."""

import threading
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
            except BaseException as error:  # whoever watches must not change what happens
                if _is_interrupt(error):
                    raise
                event(logger, "error", "middleware.failed", hook=hook, exc_info=error)


def _is_interrupt(error: BaseException) -> bool:
    """Whether it is the user's own wish to end; in a worker's threads it can only be a hook's mistake."""
    return not isinstance(error, Exception) and threading.current_thread() is threading.main_thread()
