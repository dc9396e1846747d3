"""The settings of queues as the door remembers them."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rowmq.doors.http.access import Open
from rowmq.doors.http.call import Broker
from rowmq.doors.http.sqs import known as module
from rowmq.doors.http.sqs.errors import Fault
from rowmq.doors.http.sqs.known import Known, changed
from rowmq.doors.receipt import Seal
from rowmq.runtime.client import connect
from rowmq.runtime.gather import Gather

TAGS = 20


def with_broker(work: Callable[[Broker, Counter[str]], Awaitable[None]]) -> None:
    """Let something be done with a broker of a memory store, counting how often queues are looked up."""
    looks: Counter[str] = Counter()

    async def run() -> None:
        with connect("memory://") as mq:
            mq.queue("q", lease=5)
            get = mq.store.queues.get

            def counted(name: str) -> Any:
                looks[name] += 1
                return get(name)

            mq.store.queues.get = counted  # type: ignore[method-assign]
            gather = Gather(mq.store)
            gather.start()
            try:
                await work(Broker(mq, gather, Open(), Seal(b"k")), looks)
            finally:
                await gather.close()

    asyncio.run(run())


def test_a_queue_is_looked_up_once_for_many_messages() -> None:
    async def work(broker: Broker, looks: Counter[str]) -> None:
        known = Known()
        for _ in range(10):
            assert (await known.get(broker, "q")).lease.total_seconds() == 5
        assert looks == {"q": 1}

    with_broker(work)


def test_when_the_time_is_over_one_looks_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(broker: Broker, looks: Counter[str]) -> None:
        known = Known()
        monkeypatch.setattr(module, "FRESH", 0.0)
        await known.get(broker, "q")
        monkeypatch.setattr(module, "FRESH", 60.0)
        await asyncio.gather(*(known.get(broker, "q") for _ in range(50)))
        assert looks == {"q": 2}

    with_broker(work)


def test_a_change_made_here_is_known_at_once_and_changes_wait_for_each_other() -> None:
    async def work(broker: Broker, looks: Counter[str]) -> None:
        known = Known()
        await known.get(broker, "q")
        await asyncio.gather(
            *(
                known.change(broker, "q", lambda queue, n=n: {"tags": {**queue.tags, str(n): ""}})  # type: ignore[misc]
                for n in range(20)
            )
        )
        assert len((await known.get(broker, "q")).tags) == 20

    with_broker(work)


def test_a_queue_that_is_not_there_is_not_remembered() -> None:
    async def work(broker: Broker, looks: Counter[str]) -> None:
        known = Known()
        with pytest.raises(Fault):
            await known.get(broker, "later")
        broker.client.queue("later")
        assert (await known.get(broker, "later")).name == "later"

    with_broker(work)


def test_two_servers_do_not_undo_each_others_changes(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'queue.db'}"
    with connect(url) as mq:
        mq.queue("q")
        with ThreadPoolExecutor(2) as servers:
            for done in [servers.submit(tag, url, server) for server in "ab"]:
                done.result()
        queue = mq.store.queues.get("q")
        assert queue is not None
        assert len(queue.tags) == 2 * TAGS


def tag(url: str, server: str) -> None:
    """Tag a queue many times, as a server does it."""
    with connect(url) as mq:
        for number in range(TAGS):
            add = {f"{server}{number}": ""}
            changed(mq.store, "q", lambda queue, add=add: {"tags": {**queue.tags, **add}}, server)  # type: ignore[misc]
