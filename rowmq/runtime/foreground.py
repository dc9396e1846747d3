"""Working in the foreground: signals, and several processes."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rowmq.core.errors import InvalidSetting
from rowmq.runtime.log import event, logger
from rowmq.runtime.worker import Worker

SIGNALS = (signal.SIGINT, signal.SIGTERM)
REST = 1.0
"""Seconds before a process that died is replaced."""


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
        _Crew(make, processes, stop_timeout).run()


def _work_here(worker: Worker, stop_timeout: float, *, patient: bool = False) -> None:
    over = threading.Event()
    # In a thread: the signal may have interrupted this one within the event, which it cannot enter twice.
    with _signals(lambda: threading.Thread(target=over.set).start(), patient=patient):
        worker.run(over, stop_timeout)


@contextmanager
def _signals(first: Callable[[], object], *, patient: bool) -> Iterator[None]:
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


class _Crew:
    """Child processes, each with a worker of its own; one that dies is replaced."""

    def __init__(self, make: Callable[[], Worker], count: int, stop_timeout: float) -> None:
        if not hasattr(os, "fork"):
            raise InvalidSetting("this system cannot fork: run one process at a time, several times")
        self._make, self._count, self._stop_timeout = make, count, stop_timeout
        self._children: set[int] = set()
        self._signals = 0
        self._failed = 0

    def run(self) -> None:
        """Work until a signal comes, or every child has ended well."""
        former = {each: signal.signal(each, self._heard) for each in SIGNALS}
        try:
            for _ in range(self._count):
                self._spawn()
            while self._children:
                self._reap(*os.wait())
        finally:
            for each, handler in former.items():
                signal.signal(each, handler)

    def _heard(self, _number: int, _frame: FrameType | None) -> None:
        self._signals += 1
        self._kill(signal.SIGTERM if self._signals == 1 else signal.SIGKILL)

    def _kill(self, number: int) -> None:
        for child in list(self._children):
            try:
                os.kill(child, number)
            except ProcessLookupError:
                self._children.discard(child)

    def _spawn(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # until both are ready to hear one
        child = os.fork()
        if not child:
            self._be_child()
        self._children.add(child)
        if self._signals:  # it came between: the child was not there yet to hear it
            os.kill(child, signal.SIGTERM)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def _be_child(self) -> None:
        """Work, and end. A terminal's signal comes to all, and once more from the parent: that is one."""
        code = 1
        try:
            for each in SIGNALS:
                signal.signal(each, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            _work_here(self._make(), self._stop_timeout, patient=True)
            code = 0
        except BaseException as error:  # noqa: BLE001 - a child must not go on as its parent
            event(logger, "error", "worker.process_failed", exc_info=error)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _reap(self, child: int, status: int) -> None:
        if child not in self._children:
            return  # a child of somebody else in this program
        self._children.discard(child)
        code = os.waitstatus_to_exitcode(status)
        if code == 0 or self._signals:
            return
        event(logger, "error", "worker.process_died", pid=child, code=code)
        time.sleep(REST)
        if not self._signals:
            self._spawn()
