"""One server for each store and test file, and boto3's clients of it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from rowmq.runtime.client import Client, connect
from tests.doors.http.sqs.serving import Clock, client_of, serving
from tests.servers import fresh_postgres_schema

NewQueue = Callable[..., str]
_numbers = count()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def mq(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The store that is served, seen from Python."""
    with ExitStack() as stack:
        if request.param == "postgres":
            server = request.getfixturevalue("postgres_server_url")
            url = stack.enter_context(fresh_postgres_schema(server))
        else:
            folder: Path = tmp_path_factory.mktemp("sqs")
            url = f"sqlite:///{folder / 'queue.db'}"
        yield stack.enter_context(connect(url))


@pytest.fixture(scope="module")
def endpoint(mq: Client) -> Iterator[str]:
    """Where the server is."""
    with serving(mq) as url:
        yield url


@pytest.fixture(scope="module")
def _clients(endpoint: str) -> tuple[Any, Any, Clock]:
    clock, sqs, sns = Clock(), client_of("sqs", endpoint), client_of("sns", endpoint)
    sqs.meta.events.register("before-send.sqs", clock.say)
    return sqs, sns, clock


@pytest.fixture
def sqs(_clients: tuple[Any, Any, Clock]) -> Any:
    return _clients[0]


@pytest.fixture
def sns(_clients: tuple[Any, Any, Clock]) -> Any:
    return _clients[1]


@pytest.fixture
def clock(_clients: tuple[Any, Any, Clock]) -> Iterator[Clock]:
    """Moves the time for all that the client asks."""
    yield _clients[2]
    _clients[2].reset()


@pytest.fixture
def name() -> str:
    """A name that no other test has."""
    return f"queue-{next(_numbers)}"


@pytest.fixture
def new_queue(sqs: Any) -> NewQueue:
    """Makes queues with names of their own; ``fifo`` makes it one."""

    def make(*, fifo: bool = False, tags: dict[str, str] | None = None, **attributes: str) -> str:
        name = f"made-{next(_numbers)}" + (".fifo" if fifo else "")
        said = {"FifoQueue": "true"} | attributes if fifo else attributes
        url: str = sqs.create_queue(QueueName=name, Attributes=said, tags=tags or {})["QueueUrl"]
        return url

    return make


@pytest.fixture
def queue(new_queue: NewQueue) -> str:
    """The URL of a standard queue of the test's own."""
    return new_queue()


@pytest.fixture
def fifo(new_queue: NewQueue) -> str:
    """The URL of a FIFO queue of the test's own."""
    return new_queue(fifo=True)
