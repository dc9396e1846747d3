"""The interpreter's collector of cycles, kept from looking at everything for nothing."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def calm() -> Iterator[None]:
    """Let the collector leave alone what is there now, until this is over.

    Thousands of messages in flight look to it like things that have come to stay, and then it looks through
    the whole program, again and again. How often it looks stays the user's choice, and so does what it leaves
    alone if he, or another worker, has said that already.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
