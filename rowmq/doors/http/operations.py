"""For those who run the server: whether it lives, whether it is of use, and its numbers."""

import asyncio
from collections.abc import Awaitable, Callable

from rowmq.core.errors import StoreError
from rowmq.doors.http.answer import Answer, text
from rowmq.doors.http.call import Call
from rowmq.doors.http.measuring import Measures
from rowmq.doors.http.plain import refuse
from rowmq.doors.http.route import Family, Route
from rowmq.doors.right import Right

PATIENCE = 2.0
"""Seconds in which a store answers that is of use."""
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


async def healthz(call: Call) -> Answer:  # noqa: ARG001 - whoever asks
    """Say that the process is alive."""
    return text(200, "alive")


async def readyz(call: Call) -> Answer:
    """Say whether the store answers."""
    try:
        async with asyncio.timeout(PATIENCE):
            await call.run(call.broker.store.now)
    except TimeoutError:
        return text(503, f"the store has not answered within {PATIENCE:g} seconds")
    except StoreError:
        return text(503, "the store does not answer")
    return text(200, "ready")


def family(measures: Measures | None = None) -> Family:
    """The routes of operations; without measures there are no numbers to show."""
    return Family(
        "operations",
        (
            Route("GET", "/healthz", healthz, None, open=True),
            Route("GET", "/readyz", readyz, None, open=True, refuses=(503,)),
            Route("GET", "/metrics", _metrics(measures), Right.READ),
        ),
        refuse,
    )


def _metrics(measures: Measures | None) -> Callable[[Call], Awaitable[Answer]]:
    async def metrics(call: Call) -> Answer:  # noqa: ARG001 - whoever asks
        """Show the numbers of this process and the depth of the queues, for Prometheus."""
        page = b"" if measures is None else await asyncio.to_thread(measures.text)
        return Answer(200, page, PROMETHEUS)

    return metrics
