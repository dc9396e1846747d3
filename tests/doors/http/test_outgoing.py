"""Addresses in requests are names at most: the server calls nobody."""

import socket
from collections.abc import Iterator

import httpx
import pytest

from rowmq.runtime.client import connect
from tests.doors.http.serving import serving

ARN = "arn:aws:sns:us-east-1:000000000000:orders"


@pytest.fixture
def trap() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.3)
        yield listener


def test_no_address_in_a_request_is_called(trap: socket.socket) -> None:
    there = f"http://127.0.0.1:{trap.getsockname()[1]}"
    with connect("memory://") as mq, serving(mq) as url, httpx.Client(base_url=url) as http:
        mq.queue("emails")
        sqs = {"X-Amz-Target": "AmazonSQS.SendMessage", "Content-Type": "application/x-amz-json-1.0"}
        sent = http.post("/", json={"QueueUrl": f"{there}/1/emails", "MessageBody": "1"}, headers=sqs)
        topic = {"Action": "Subscribe", "TopicArn": ARN, "Protocol": "http", "Endpoint": f"{there}/hook"}
        subscribed = http.post("/", data=topic)
        proxied = http.get(
            "/healthz", headers={"Host": there.removeprefix("http://"), "X-Forwarded-Host": there}
        )
        pushed = http.post("/v1/queues/emails/messages", json={"payload": there, "metadata": {"url": there}})
        statuses = [answer.status_code for answer in (sent, subscribed, proxied, pushed)]
        assert statuses == [200, 400, 200, 201]
        with pytest.raises(TimeoutError):
            trap.accept()
