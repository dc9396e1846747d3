"""Visibility: hidden for a while, longer, or not at all."""

import threading
import time
from typing import Any

import pytest

from tests.doors.http.sqs.asking import bodies, one, refused
from tests.doors.http.sqs.conftest import NewQueue
from tests.doors.http.sqs.serving import Clock
from tests.timing import timed


def test_a_message_is_hidden_for_the_queues_timeout(sqs: Any, new_queue: NewQueue, clock: Clock) -> None:
    queue = new_queue(VisibilityTimeout="40")
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    assert bodies(sqs.receive_message(QueueUrl=queue)) == ["x"]
    clock.move(39)
    assert bodies(sqs.receive_message(QueueUrl=queue)) == []
    clock.move(2)
    assert bodies(sqs.receive_message(QueueUrl=queue)) == ["x"]


def test_a_receive_may_say_for_how_long(sqs: Any, queue: str, clock: Clock) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    sqs.receive_message(QueueUrl=queue, VisibilityTimeout=100)
    clock.move(99)
    assert bodies(sqs.receive_message(QueueUrl=queue)) == []
    clock.move(2)
    assert bodies(sqs.receive_message(QueueUrl=queue)) == ["x"]


def test_a_timeout_of_zero_leaves_the_message_visible_and_counts_the_receive(
    sqs: Any, new_queue: NewQueue
) -> None:
    queue = new_queue(VisibilityTimeout="0")
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    sqs.receive_message(QueueUrl=queue, VisibilityTimeout=0)
    names = ["ApproximateReceiveCount"]
    time.sleep(0.002)  # the shortest lease a queue can have is a millisecond
    assert one(sqs.receive_message(QueueUrl=queue, AttributeNames=names))["Attributes"] == {names[0]: "2"}
    time.sleep(0.002)
    assert one(sqs.receive_message(QueueUrl=queue, AttributeNames=names))["Attributes"] == {names[0]: "3"}


def test_a_timeout_can_be_made_longer_or_shorter_and_is_not_remembered(
    sqs: Any, queue: str, clock: Clock
) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    handle = one(sqs.receive_message(QueueUrl=queue))["ReceiptHandle"]
    sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=600)
    clock.move(599)
    assert bodies(sqs.receive_message(QueueUrl=queue)) == []
    sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=5)
    clock.move(6)
    assert bodies(sqs.receive_message(QueueUrl=queue)) == ["x"]
    clock.move(31)
    assert bodies(sqs.receive_message(QueueUrl=queue)) == ["x"]


def test_zero_returns_a_message_at_once_and_the_receive_has_counted(sqs: Any, queue: str) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    handle = one(sqs.receive_message(QueueUrl=queue))["ReceiptHandle"]
    sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=0)
    again = one(sqs.receive_message(QueueUrl=queue, AttributeNames=["ApproximateReceiveCount"]))
    assert again["Attributes"]["ApproximateReceiveCount"] == "2"


@timed
def test_a_message_returned_wakes_who_waits_for_it(sqs: Any, queue: str) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    handle = one(sqs.receive_message(QueueUrl=queue))["ReceiptHandle"]
    found: list[float] = []

    def wait() -> None:
        assert bodies(sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=20)) == ["x"]
        found.append(time.monotonic())

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.3)  # it must be waiting by then
    sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=0)
    returned = time.monotonic()
    waiting.join()
    assert found[0] - returned < 0.9


def test_a_deleted_message_cannot_be_changed(sqs: Any, queue: str) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    handle = one(sqs.receive_message(QueueUrl=queue))["ReceiptHandle"]
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=handle)
    words = "Message does not exist or is not available for visibility timeout change."
    with refused(
        "InvalidParameterValue", f"Value {handle} for parameter ReceiptHandle is invalid. Reason: {words}"
    ):
        sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=5)


@pytest.mark.parametrize("seconds", [-1, 43_201])
def test_a_timeout_out_of_range_is_refused(sqs: Any, queue: str, seconds: int) -> None:
    with refused("InvalidParameterValue", f"Value {seconds} for parameter VisibilityTimeout is invalid."):
        sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle="x", VisibilityTimeout=seconds)


def test_a_batch_changes_each_to_its_own_and_tells_which_it_could_not(
    sqs: Any, queue: str, clock: Clock
) -> None:
    for body in "abc":
        sqs.send_message(QueueUrl=queue, MessageBody=body)
    held = {
        message["Body"]: message["ReceiptHandle"]
        for message in sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]
    }
    answer = sqs.change_message_visibility_batch(
        QueueUrl=queue,
        Entries=[
            {"Id": "now", "ReceiptHandle": held["a"], "VisibilityTimeout": 0},
            {"Id": "late", "ReceiptHandle": held["b"], "VisibilityTimeout": 100},
            {"Id": "garbage", "ReceiptHandle": "garbage", "VisibilityTimeout": 1},
            {"Id": "range", "ReceiptHandle": held["c"], "VisibilityTimeout": 50_000},
        ],
    )
    assert [entry["Id"] for entry in answer["Successful"]] == ["now", "late"]
    assert {entry["Id"]: entry["Code"] for entry in answer["Failed"]} == {
        "garbage": "ReceiptHandleIsInvalid",
        "range": "InvalidParameterValue",
    }
    assert bodies(sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)) == ["a"]
    clock.move(40)
    assert sorted(bodies(sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10))) == ["a", "c"]
