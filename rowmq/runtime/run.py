"""Running one message's job, and what its end means."""

import asyncio
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from rowmq.core.backoff import Backoff
from rowmq.core.errors import InvalidMessage
from rowmq.core.outcome import ACK, Ack, Bury, Failure, Outcome, Reason, Release
from rowmq.runtime.answers import Kill, Retry, Snooze
from rowmq.runtime.claimed import ClaimedMessage, as_result, decided
from rowmq.runtime.hooks import Hooks
from rowmq.runtime.options import as_span
from rowmq.runtime.registry import Job, Unreadable

End = tuple[Outcome, BaseException | None]
"""What becomes of a message, and what was raised."""
DONE: End = (ACK, None)


class Runner:
    """Runs jobs inside the middleware, and turns whatever happens into an outcome."""

    def __init__(
        self,
        hooks: Hooks,
        backoff: Callable[[str], Backoff],
        on_invalid: Callable[[ClaimedMessage, Exception], object] | None,
    ) -> None:
        self._before = hooks.of("before")
        self._around = hooks.of("around")
        self._is_bare = not self._before and not self._around
        self._backoff = backoff
        self._on_invalid = on_invalid

    def run(self, job: Job, message: ClaimedMessage) -> End:
        """Run a plain function."""
        outcome: Outcome = ACK  # also if a middleware takes an error upon itself
        try:
            _read(message)
            if self._is_bare:
                value = job.call(message)
                return DONE if value is None else (said(job, value), None)
            with self._entered(message):
                outcome = said(job, job.call(message))
        except BaseException as error:  # noqa: BLE001 - a handler must not end a worker, whatever it raises
            return self._failed(message, error), error
        return outcome, None

    async def run_async(self, job: Job, message: ClaimedMessage) -> End:
        """Run an async function, for at most as long as it may take."""
        outcome: Outcome = ACK
        try:
            _read(message)
            with self._entered(message):
                async with asyncio.timeout(job.timeout):
                    outcome = said(job, await job.call(message))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - the same
            return self._failed(message, error), error
        return outcome, None

    def timed_out(self, job: Job, message: ClaimedMessage) -> End:
        """What becomes of a message whose handler does not come back."""
        error = TimeoutError(f"{job.name} did not finish within {job.timeout} seconds")
        return self._failed(message, error), error

    def cancelled(self, message: ClaimedMessage, error: BaseException) -> End:
        """What becomes of a message whose handler was stopped, by a lease that may be over or by itself."""
        return self._failed(message, error), error

    def _entered(self, message: ClaimedMessage) -> ExitStack:
        with ExitStack() as stack:
            for each in self._before:
                each.before(message)
            for each in self._around:
                stack.enter_context(each.around(message))
            return stack.pop_all()
        raise AssertionError("a context swallowed an error of entering the next")

    def _failed(self, message: ClaimedMessage, error: BaseException) -> Outcome:
        try:
            return self._judged(message, error)
        except Exception as impossible:  # noqa: BLE001 - a delay that cannot be, an error without a text
            return self._judged(message, impossible)

    def _judged(self, message: ClaimedMessage, error: BaseException) -> Outcome:
        if isinstance(error, Unreadable):
            return self.invalid(message, error)
        text = "".join(traceback.format_exception(error))
        if isinstance(error, Kill):
            return Bury(reason=Reason.KILLED, error=str(error) or text)
        after = None
        if isinstance(error, Retry):
            text, after = str(error), None if error.after is None else as_span(error.after, "after")
        failure = Failure(error=text, after=after)
        return decided(message.delivery, failure, self._backoff(message.queue))

    def invalid(self, message: ClaimedMessage, error: Exception) -> Outcome:
        """Bury a message that cannot be handled, and tell the callback."""
        text = str(error)
        if self._on_invalid is not None:
            try:
                self._on_invalid(message, error)
            except BaseException:  # noqa: BLE001 - the message is invalid all the same
                text += "\n\nand the callback failed:\n" + traceback.format_exc()
        return Bury(reason=Reason.INVALID, error=text)


def said(job: Job, value: Any) -> Outcome:
    """The outcome that a job's return value means."""
    if value is None:
        return ACK
    if isinstance(value, Snooze):
        return Release(delay=as_span(value.after, "after"))
    return Ack(result=as_result(value)) if job.results else ACK


def _read(message: ClaimedMessage) -> None:
    try:
        message.read()
    except InvalidMessage as error:
        raise Unreadable(str(error)) from None
