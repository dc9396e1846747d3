"""Somebody who watches a page: the events that come to him, as they come."""

import json
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

PATIENCE = 30.0
Change = tuple[str, str, str | None]


class Stream:
    """The events of a stream that a thread reads, until it ends."""

    def __init__(self) -> None:
        self._events: queue.Queue[tuple[str, Any] | None] = queue.Queue()
        self.shown: dict[str, str] = {}
        self.ended = threading.Event()

    def read(self, lines: Iterator[str]) -> None:
        """Take what comes, until nothing does."""
        word = ""
        try:
            for line in lines:
                if line.startswith("event: "):
                    word = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    self._events.put((word, json.loads(line.removeprefix("data: "))))
        except (httpx.HTTPError, httpx.StreamError):
            pass  # somebody hung up
        finally:
            self._events.put(None)
            self.ended.set()

    def next(self, word: str, patience: float = PATIENCE) -> Any:
        """What the next event of this kind says."""
        end = time.monotonic() + patience
        while True:
            found = self._events.get(timeout=max(0.01, end - time.monotonic()))
            assert found is not None, "the stream has ended"
            if found[0] == "change":
                self.shown |= {id: value for id, _, value, _ in found[1]}
            if found[0] == word:
                return found[1]

    def sees(self, id: str, value: str, patience: float = PATIENCE) -> float:
        """How long it took until an element shows this."""
        started = time.monotonic()
        while self.shown.get(id) != value:
            self.next("change", patience)
            assert time.monotonic() - started < patience, self.shown.get(id)
        return time.monotonic() - started


@contextmanager
def watching(url: str, path: str, **headers: str) -> Iterator[Stream]:
    """Watch a page as long as the block lasts."""
    stream = Stream()
    with (
        httpx.Client(base_url=url, timeout=30) as http,
        http.stream("GET", path, headers={"accept": "text/event-stream", **headers}) as answer,
    ):
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        reader = threading.Thread(target=stream.read, args=(answer.iter_lines(),), daemon=True)
        reader.start()
        yield stream
