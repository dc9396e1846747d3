"""The interpreter's collector of cycles, kept from looking at everything for nothing."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 20_000
"""New objects after which it looks. A worker has so many in flight, and by default it looks after 700 or,
from Python 3.13 on, 2,000."""


@contextmanager
def calm() -> Iterator[None]:
    """Let the collector leave alone what is there now, and look less often, until this is over.

    Thousands of messages in flight look to it like things that have come to stay, and then it looks through
    the whole program, again and again. What the user has said about it himself stays as he has said it.
    """
    with _leaving_alone(), _looking_rarely():
        yield


@contextmanager
def _leaving_alone() -> Iterator[None]:
    if gc.get_freeze_count():  # somebody has thought about it, or it was another worker
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def _looking_rarely() -> Iterator[None]:
    young, *older = former = gc.get_threshold()
    if not 0 < young < YOUNG:  # it never looks, or more rarely already
        yield
        return
    gc.set_threshold(YOUNG, *older)
    try:
        yield
    finally:
        if gc.get_threshold() == (YOUNG, *older):  # nobody has said anything else since
            gc.set_threshold(*former)
