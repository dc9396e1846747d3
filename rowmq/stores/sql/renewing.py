"""Connections that broke together.

After a restart of the server every connection of a pool is broken, and each would fail a transaction once
more. Disposing of the pool would lose those that are in use, so each is looked at when it is next taken.
"""

import time
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DisconnectionError


def renew_all_after_one_broke(engine: Engine) -> None:
    """Open anew, when they are next taken, the connections older than the last break."""
    broke = 0.0

    @event.listens_for(engine, "connect")
    def opened(_connection: Any, record: Any) -> None:
        record.info["opened"] = time.monotonic()

    @event.listens_for(engine, "invalidate")
    def broken(_connection: Any, record: Any, _error: Any) -> None:
        nonlocal broke
        if record.info.get("opened", 0.0) >= broke:
            broke = time.monotonic()

    @event.listens_for(engine, "checkout")
    def check(_connection: Any, record: Any, _proxy: Any) -> None:
        if record.info["opened"] < broke:
            raise DisconnectionError("another connection has been broken since this one was opened")
