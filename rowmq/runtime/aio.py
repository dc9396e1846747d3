"""From async code: the same methods, each in a thread of its own turn."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any


class Aio:
    """Any object's methods as coroutine functions: ``await mq.aio.push("emails", ...)``.

    The store's calls wait for disks and networks, so a thread waits instead of the event loop. A
    coroutine that is cancelled does not take back what its thread is doing.
    """

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._target, name)

        async def hop(*args: Any, **options: Any) -> Any:
            return await asyncio.to_thread(partial(method, *args, **options))

        return hop
