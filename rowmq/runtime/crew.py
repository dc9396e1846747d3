"""Several processes that do the same, and a parent that replaces those that die."""

import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

from rowmq.core.errors import InvalidSetting
from rowmq.runtime.log import event, logger

SIGNALS = (signal.SIGINT, signal.SIGTERM)
REST = 1.0
"""Seconds before a process that died is replaced."""


class Crew:
    """Child processes that run a function each; one that dies is replaced.

    The first signal asks them to stop, the second one kills them. A terminal's signal comes to all, and once
    more from the parent, so the function has to take two as one.
    """

    def __init__(self, run: Callable[[], None], count: int) -> None:
        if not hasattr(os, "fork"):
            raise InvalidSetting("this system cannot fork: run one process at a time, several times")
        self._run, self._count = run, count
        self._children: set[int] = set()
        self._signals = 0

    def run(self) -> None:
        """Go on until a signal comes, or every child has ended well."""
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
        """Do it, and end."""
        code = 1
        try:
            for each in SIGNALS:
                signal.signal(each, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            self._run()
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
