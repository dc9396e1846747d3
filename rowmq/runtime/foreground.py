"""Working in the foreground: until a signal comes, here or in several processes."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rowmq.core.errors import InvalidSetting
from rowmq.runtime.crew import SIGNALS, Crew
from rowmq.runtime.worker import Worker


def work(make: Callable[[], Worker], *, processes: int, stop_timeout: float) -> None:
    """Run a worker until a signal comes, here or in that many processes."""
    if processes < 1:
        raise InvalidSetting(f"processes is at least 1, not {processes}")
    if processes > 1 and threading.current_thread() is not threading.main_thread():
        raise InvalidSetting("several processes are started by the main thread; work with processes=1 here")
    worker = make()  # also for processes: what is wrong is said once, and here
    if processes == 1:
        _work_here(worker, stop_timeout)
    else:
        Crew(lambda: _work_here(make(), stop_timeout, patient=True), processes).run()


def _work_here(worker: Worker, stop_timeout: float, *, patient: bool = False) -> None:
    over = threading.Event()
    # In a thread: the signal may have interrupted this one within the event, which it cannot enter twice.
    with on_signal(lambda: threading.Thread(target=over.set).start(), patient=patient):
        worker.run(over, stop_timeout)


@contextmanager
def on_signal(first: Callable[[], object], *, patient: bool = False) -> Iterator[None]:
    """Call a function at the first signal; the second ends the process at once, unless it is patient."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may, and whoever works in another stops the worker himself
        return
    seen = 0

    def heard(number: int, _frame: FrameType | None) -> None:
        nonlocal seen
        seen += 1
        if seen == 1:
            first()
        elif not patient:
            os._exit(128 + number)

    former = {each: signal.signal(each, heard) for each in SIGNALS}
    try:
        yield
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)
