"""The server to measure: RowMQ's own, with two routes more to compare it with.

    python -m benchmarks.http_server URL PORT

``POST /constant`` reads its body and answers a constant. ``POST /alone/{name}`` pushes in a transaction of
its own, as a server without group commit would.
"""

from __future__ import annotations

import sys

import rowmq
from rowmq.core.message import Batch, Message, check_json
from rowmq.doors.http import serving
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.plain import refuse
from rowmq.doors.http.route import Family, Route
from rowmq.doors.right import Right

families = serving.families


async def constant(_: Call) -> Answer:
    """Answer a constant."""
    return Answer(body=b'{"message_id":"0192f0c1-2345-7abc-8def-0123456789ab"}')


async def alone(call: Call) -> Answer:
    """Push in a transaction of its own."""
    message = Message(id=rowmq.new_id(), body=check_json(call.body))
    await call.run(lambda: call.broker.store.push([Batch(call.path["name"], [message])]))
    return Answer(body=b'{"message_id":"%s"}' % str(message.id).encode())


def with_ours(*arguments: object) -> list[Family]:
    """All families, and the two routes."""
    routes = (
        Route("POST", "/constant", constant, Right.PUSH, body=bytes),
        Route("POST", "/alone/{name}", alone, Right.PUSH, "name", body=bytes),
    )
    return [*families(*arguments), Family("benchmark", routes, refuse)]  # type: ignore[arg-type]


def main() -> None:
    """Serve."""
    serving.families = with_ours  # type: ignore[assignment]
    with rowmq.connect(sys.argv[1]) as client:
        client.queue("q", max_attempts=None)
        serving.Server(client, serving.bind("127.0.0.1", int(sys.argv[2]))).run()


if __name__ == "__main__":
    main()
