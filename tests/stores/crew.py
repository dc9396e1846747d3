"""Other processes at work on a store, to be paused and killed: ``python -m tests.stores.crew TASK URL ...``.

A worker says "ready" once its store is open and begins when it is told to. Whatever it then prints has
happened in the store before; an exception ends it with a traceback and a status other than 0.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rowmq.core.delivery import Settlement, Want
from rowmq.core.message import Batch, Pushed
from rowmq.core.outcome import ACK, Retry, Settled
from rowmq.stores import open_store
from rowmq.testing.build import message, messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowmq.core.store import Store

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""Seconds after which a worker that has not answered never will."""
MOST_ROUNDS = 100_000


class Worker:
    """A process of the crew, as the test sees it."""

    def __init__(self, task: str, url: str, *arguments: object) -> None:
        command = [sys.executable, "-m", "tests.stores.crew", task, url, *map(str, arguments)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._rest = b""

    def tell(self, word: str = "go") -> None:
        """Give it a line to read."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n".encode())
        self.process.stdin.flush()

    def line(self) -> Any:
        """Return the next thing it says, waiting for it."""
        assert self.process.stdout is not None
        end = time.monotonic() + PATIENCE
        while b"\n" not in self._rest:
            readable, _, _ = select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))
            more = os.read(self.process.stdout.fileno(), 65536) if readable else b""
            assert more, f"the worker said nothing more: {self._failure()}"
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\n")
        return json.loads(text)

    def lines(self) -> list[Any]:
        """Return everything it has said and says until it ends well."""
        output, errors = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, errors.decode()
        return _complete(self._rest + output)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def kill(self) -> list[Any]:
        """Kill it outright and return what it had said, less a line it was cut short in."""
        self.process.kill()
        output, _ = self.process.communicate(timeout=PATIENCE)
        return _complete(self._rest + output)

    def close(self) -> None:
        """End it, whatever it is doing."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate(timeout=PATIENCE)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None and not pipe.closed:
                pipe.close()

    def _failure(self) -> str:
        self.process.kill()
        _, errors = self.process.communicate(timeout=PATIENCE)
        return errors.decode()


def _complete(output: bytes) -> list[Any]:
    return [json.loads(line) for line in output.split(b"\n")[:-1]]


@contextmanager
def crew(count: int, task: str, url: str, *arguments: object) -> Iterator[list[Worker]]:
    """Start workers on one task, let them go at once when all are ready, and end whoever is left."""
    workers: list[Worker] = []
    try:
        workers += [Worker(task, url, *arguments) for _ in range(count)]
        for worker in workers:
            assert worker.line() == "ready"
        for worker in workers:
            worker.tell()
        yield workers
    finally:
        for worker in workers:
            worker.close()


# ---- what a worker does, in its own process ---------------------------------------------------------------


def say(what: object) -> None:
    """Tell the test, at once."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def heed() -> str:
    """Wait for a word from the test."""
    return sys.stdin.readline().strip()


def started(url: str) -> Store:
    """Open the store and begin together with the others."""
    store = open_store(url)
    say("ready")
    heed()
    return store


def drain(url: str, batch: str, lease: str) -> None:
    """Claim and ack until there is nothing left, and say what was delivered and acked."""
    store = started(url)
    want = Want(limit=int(batch), lease=timedelta(seconds=float(lease)))
    for _ in range(MOST_ROUNDS):
        (held,) = store.claim("q", [want])
        if not held:
            break
        answers = store.settle([Settlement(each.receipt, ACK) for each in held])
        won = [str(each.id) for each, answer in zip(held, answers, strict=True) if answer is Settled.SETTLED]
        say({"held": [str(each.id) for each in held], "won": won})
    store.close()


def labour(url: str, batch: str, lease: str) -> None:
    """Claim and ack for ever, saying each message that was acked: a worker to be killed."""
    store = started(url)
    want = Want(limit=int(batch), lease=timedelta(seconds=float(lease)))
    for _ in range(MOST_ROUNDS):
        (held,) = store.claim("q", [want])
        answers = store.settle([Settlement(each.receipt, ACK) for each in held])
        say([str(each.id) for each, answer in zip(held, answers, strict=True) if answer is Settled.SETTLED])


def hold(url: str, lease: str) -> None:
    """Claim one message, wait to be told, and only then extend, retry and ack it."""
    store = started(url)
    ((held,),) = store.claim("q", [Want(lease=timedelta(seconds=float(lease)))])
    say(str(held.id))
    heed()
    extended = store.extend([held.receipt], timedelta(hours=1))[0]
    retried = store.settle([Settlement(held.receipt, Retry(error="late"))])[0]
    say([extended is None, retried, store.settle([Settlement(held.receipt, ACK)])[0]])
    store.close()


def produce(url: str, size: str) -> None:
    """Push batches for ever, saying the name of each that was acknowledged."""
    store = started(url)
    for number in range(MOST_ROUNDS):
        name = f"{os.getpid()}-{number}"
        (answer,) = store.push([Batch("q", messages(int(size), metadata={"batch": name}))])
        assert isinstance(answer, Pushed), answer
        say(name)


def settle_in(url: str) -> None:
    """Open a database that nobody has migrated yet, at the same moment as others, and use it."""
    say("ready")
    heed()
    store = open_store(url)
    store.queues.put("q")
    (answer,) = store.push([Batch("q", [message(os.getpid())])])
    assert isinstance(answer, Pushed), answer
    say(store.migrate())
    store.close()


def fork(url: str, count: str) -> None:
    """Fork after connecting, and work on in both processes with the store object they share."""
    store = started(url)
    _bustle(store, int(count))
    child = os.fork()
    if child == 0:
        _leave(lambda: _bustle(store, int(count)))
    _bustle(store, int(count))
    _, status = os.waitpid(child, 0)
    say(os.waitstatus_to_exitcode(status))
    store.close()


def fork_amid_threads(url: str, count: str) -> None:
    """Fork while other threads are inside the store; the children must not wait for those threads."""
    store = started(url)
    threads = [threading.Thread(target=_bustle, args=(store, int(count))) for _ in range(4)]
    for thread in threads:
        thread.start()
    children = [_child(store) for _ in range(10)]
    for thread in threads:
        thread.join()
    say([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
    store.close()


def daemon(url: str, count: str) -> None:
    """Fork, close the store in the parent, and push in the child while another process has the database."""
    store = started(url)
    _bustle(store, int(count))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.read(reading, 1)
        _leave(lambda: _stock(store, int(count)))
    store.close()
    os.close(reading)
    say("closed")
    heed()
    os.close(writing)
    _, status = os.waitpid(child, 0)
    say(os.waitstatus_to_exitcode(status))


def _child(store: Store) -> int:
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        _leave(lambda: _bustle(store, 3))
    return pid


def _leave(work: Any) -> None:
    """Do the work of a forked child, and end it without the parent's clearing up."""
    try:
        work()
    except BaseException as error:  # noqa: BLE001 the child must not go on as the parent
        sys.stderr.write(f"in the child: {error!r}\n")
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def _bustle(store: Store, count: int) -> None:
    """Push, claim and ack."""
    for _ in range(count):
        _pushed(store)
        (held,) = store.claim("q", [Want(limit=1)])
        answers = store.settle([Settlement(each.receipt, ACK) for each in held])
        assert set(answers) <= {Settled.SETTLED}, answers


def _stock(store: Store, count: int) -> None:
    """Push."""
    for _ in range(count):
        _pushed(store)


def _pushed(store: Store) -> None:
    (answer,) = store.push([Batch("q", [message(os.getpid())])])
    assert isinstance(answer, Pushed), answer


TASKS = {
    task.__name__: task for task in (drain, labour, hold, produce, settle_in, fork, fork_amid_threads, daemon)
}

if __name__ == "__main__":
    TASKS[sys.argv[1]](*sys.argv[2:])
