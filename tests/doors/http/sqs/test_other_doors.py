"""Queues and messages are the same through every door."""

from typing import Any

import pytest

from rowmq.runtime.client import Client
from tests.doors.http.sqs.asking import bodies, one
from tests.doors.http.sqs.serving import Clock


@pytest.mark.parametrize(
    ("payload", "body"),
    [
        ({"to": "ada", "n": 1.5}, '{"to":"ada","n":1.5}'),
        ([1, None], "[1,null]"),
        ("plain text", "plain text"),
        ('{"a": 1}', '{"a": 1}'),
        (5, "5"),
        (None, "null"),
        (b"bytes of text", "bytes of text"),
        (b"\x00\xff", "AP8="),
        ("lone \ud800", "lone ?"),
    ],
)
def test_what_python_pushes_is_text_here(sqs: Any, mq: Client, name: str, payload: object, body: str) -> None:
    mq.queue(name).push(payload)
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    message = one(sqs.receive_message(QueueUrl=url))
    assert message["Body"] == body
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    assert mq.queue(name).stats().done == 1


@pytest.mark.parametrize(
    ("body", "payload"),
    [
        ('{"to": "ada"}', {"to": "ada"}),
        ("[1, 2]", [1, 2]),
        ("hello", "hello"),
        ("12", "12"),
        ('"quoted"', '"quoted"'),
        ("{broken", "{broken"),
    ],
)
def test_what_is_sent_here_is_a_payload_in_python(
    sqs: Any, mq: Client, queue: str, body: str, payload: object
) -> None:
    sent = sqs.send_message(QueueUrl=queue, MessageBody=body)
    (message,) = mq.queue(queue.rpartition("/")[2]).claim()
    assert (message.payload, str(message.id)) == (payload, sent["MessageId"])
    message.ack()
    assert bodies(sqs.receive_message(QueueUrl=queue)) == []


def test_metadata_are_attributes_and_attributes_metadata(sqs: Any, mq: Client, queue: str) -> None:
    handle = mq.queue(queue.rpartition("/")[2])
    handle.push("x", metadata={"lang": "en", "not a name": "y"})
    message = one(sqs.receive_message(QueueUrl=queue, MessageAttributeNames=["All"]))
    assert message["MessageAttributes"] == {"lang": {"DataType": "String", "StringValue": "en"}}
    sqs.send_message(
        QueueUrl=queue,
        MessageBody="y",
        MessageAttributes={
            "lang": {"DataType": "String", "StringValue": "de"},
            "n": {"DataType": "Number", "StringValue": "1"},
        },
    )
    (claimed,) = handle.claim(where={"lang": "de"})
    assert claimed.metadata == {"lang": "de", "sqs:attribute:n": '["Number", "1"]'}


def test_a_queue_of_any_name_and_setting_can_be_used_here(sqs: Any, mq: Client, name: str) -> None:
    made = mq.queue(f"{name}/übung", max_attempts=2, lease=7, delay=3, max_age=None)
    url = sqs.get_queue_url(QueueName=made.name)["QueueUrl"]
    assert url.endswith("%2F%C3%BCbung")
    assert url in sqs.list_queues()["QueueUrls"]
    shown = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert (shown["VisibilityTimeout"], shown["DelaySeconds"]) == ("7", "3")
    assert shown["MessageRetentionPeriod"] == "1209600"
    assert "CreatedTimestamp" not in shown
    sqs.send_message(QueueUrl=url, MessageBody="x", DelaySeconds=0)
    assert bodies(sqs.receive_message(QueueUrl=url)) == ["x"]
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "9"})
    found = mq.store.queues.get(made.name)
    assert found is not None
    assert (found.lease.total_seconds(), found.max_attempts) == (9, 2)


def test_a_fifo_queue_of_pythons_is_one_here(sqs: Any, mq: Client, name: str) -> None:
    handle = mq.queue(name, fifo=True)
    for group, payload in (("a", 1), (None, 2), ("a", 3)):
        handle.push(payload, group=group)
    found = sqs.receive_message(QueueUrl=name, MaxNumberOfMessages=10, AttributeNames=["MessageGroupId"])
    assert bodies(found) == ["1", "3", "2"]
    assert found["Messages"][0]["Attributes"] == {"MessageGroupId": "a"}
    assert "Attributes" not in found["Messages"][2]


def test_in_an_at_most_once_queue_a_message_is_returned_and_not_lost(
    sqs: Any, mq: Client, name: str, clock: Clock
) -> None:
    mq.queue(name, delivery="at_most_once").push("x")
    handle = one(sqs.receive_message(QueueUrl=name))["ReceiptHandle"]
    sqs.change_message_visibility(QueueUrl=name, ReceiptHandle=handle, VisibilityTimeout=0)
    assert bodies(sqs.receive_message(QueueUrl=name)) == ["x"]
    clock.move(31)
    assert bodies(sqs.receive_message(QueueUrl=name)) == []


def test_a_receipt_of_a_worker_and_a_handle_are_of_one_kind(sqs: Any, mq: Client, queue: str) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    (claimed,) = mq.queue(queue.rpartition("/")[2]).claim(lease=60)
    assert bodies(sqs.receive_message(QueueUrl=queue)) == []
    claimed.retry(after=0)
    assert bodies(sqs.receive_message(QueueUrl=queue)) == ["x"]
