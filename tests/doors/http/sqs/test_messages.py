"""Sending, receiving and deleting, with boto3."""

import hashlib
import threading
import time
from typing import Any

import pytest

from tests.doors.http.sqs.asking import bodies, one, refused
from tests.doors.http.sqs.conftest import NewQueue
from tests.doors.http.sqs.serving import ACCOUNT, Clock

LARGEST = 2**20


def test_a_message_is_sent_received_and_deleted(sqs: Any, queue: str, clock: Clock) -> None:
    sent = sqs.send_message(QueueUrl=queue, MessageBody="hello")
    message = one(sqs.receive_message(QueueUrl=queue))
    assert (message["Body"], message["MessageId"]) == ("hello", sent["MessageId"])
    assert message["MD5OfBody"] == sent["MD5OfMessageBody"] == "5d41402abc4b2a76b9719d911017c592"
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    clock.move(60)
    assert "Messages" not in sqs.receive_message(QueueUrl=queue)


@pytest.mark.parametrize(
    "body",
    [
        '{"to": "ada",  "n": 1.0}',
        "[1, 2]",
        '"quoted"',
        "plain",
        "12",
        "null",
        "{broken",
        "  {}",
        "[NaN]",
        'line\nline\r\n\t<a href="x">&amp;</a>',
        "žluťoučký 🐎 \ud7ff\ue000\ufffd",
        "[" * 5000,
    ],
)
def test_a_body_comes_back_character_for_character(sqs: Any, queue: str, body: str) -> None:
    sent = sqs.send_message(QueueUrl=queue, MessageBody=body)
    message = one(sqs.receive_message(QueueUrl=queue))
    assert message["Body"] == body
    assert message["MD5OfBody"] == sent["MD5OfMessageBody"] == hashlib.md5(body.encode()).hexdigest()  # noqa: S324


def test_attributes_of_every_type_come_back_with_their_digest(sqs: Any, queue: str) -> None:
    attributes = {
        "text": {"DataType": "String", "StringValue": "žluť"},
        "kind": {"DataType": "String.json", "StringValue": "{}"},
        "count": {"DataType": "Number", "StringValue": "1.50"},
        "raw.bytes": {"DataType": "Binary.gif", "BinaryValue": b"\x00\xff\r\n"},
    }
    sent = sqs.send_message(QueueUrl=queue, MessageBody="x", MessageAttributes=attributes)
    message = one(sqs.receive_message(QueueUrl=queue, MessageAttributeNames=["All"]))
    assert message["MessageAttributes"] == attributes
    assert message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]


def test_the_digest_of_attributes_is_the_published_one_and_absent_without_any(sqs: Any, queue: str) -> None:
    attributes = {"attribName1": {"DataType": "String", "StringValue": "attribValue 1"}}
    sent = sqs.send_message(QueueUrl=queue, MessageBody="x", MessageAttributes=attributes)
    assert sent["MD5OfMessageAttributes"] == "19e27d4e946b072f3f58da80d94fd778"
    assert "MD5OfMessageAttributes" not in sqs.send_message(QueueUrl=queue, MessageBody="x")


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ([], set()),
        (["a"], {"a"}),
        (["foo.*"], {"foo.1", "foo.2"}),
        (["foo.1", "none"], {"foo.1"}),
        ([".*"], {"a", "foo.1", "foo.2"}),
        (["All"], {"a", "foo.1", "foo.2"}),
    ],
)
def test_only_the_attributes_asked_for_are_given(
    sqs: Any, queue: str, asked: list[str], given: set[str]
) -> None:
    each = {"DataType": "String", "StringValue": "v"}
    sqs.send_message(
        QueueUrl=queue, MessageBody="x", MessageAttributes={"a": each, "foo.1": each, "foo.2": each}
    )
    message = one(sqs.receive_message(QueueUrl=queue, MessageAttributeNames=asked))
    assert message.get("MessageAttributes", {}).keys() == given
    assert ("MD5OfMessageAttributes" in message) == bool(given)


def test_system_attributes_are_given_when_asked_for_by_either_name(sqs: Any, queue: str) -> None:
    trace = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988"}}
    sent = sqs.send_message(QueueUrl=queue, MessageBody="x", MessageSystemAttributes=trace)
    assert sent["MD5OfMessageSystemAttributes"]
    first = one(sqs.receive_message(QueueUrl=queue, VisibilityTimeout=0))
    second = one(sqs.receive_message(QueueUrl=queue, AttributeNames=["SentTimestamp"], VisibilityTimeout=0))
    third = one(sqs.receive_message(QueueUrl=queue, MessageSystemAttributeNames=["All"], VisibilityTimeout=0))
    fourth = one(sqs.receive_message(QueueUrl=queue, MessageSystemAttributeNames=["ALL"]))
    assert fourth["Attributes"].keys() == third["Attributes"].keys()
    assert "Attributes" not in first
    assert list(second["Attributes"]) == ["SentTimestamp"]
    assert abs(int(second["Attributes"]["SentTimestamp"]) / 1000 - time.time()) < 60
    assert third["Attributes"]["AWSTraceHeader"] == "Root=1-5759e988"
    assert third["Attributes"]["ApproximateReceiveCount"] == "3"
    assert third["Attributes"]["SenderId"] == ACCOUNT
    first_receive = int(third["Attributes"]["ApproximateFirstReceiveTimestamp"])
    assert int(third["Attributes"]["SentTimestamp"]) <= first_receive <= time.time() * 1000


def test_the_first_receive_stays_the_first(sqs: Any, queue: str, clock: Clock) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    names = ["ApproximateFirstReceiveTimestamp"]
    first = one(sqs.receive_message(QueueUrl=queue, AttributeNames=names))["Attributes"][names[0]]
    clock.move(100)
    again = one(sqs.receive_message(QueueUrl=queue, AttributeNames=names))["Attributes"][names[0]]
    assert abs(int(again) - int(first)) < 10_000  # milliseconds, of 100 seconds


def test_a_delayed_message_comes_later_and_zero_overrides_the_queue(
    sqs: Any, new_queue: NewQueue, clock: Clock
) -> None:
    queue = new_queue(DelaySeconds="60")
    sqs.send_message(QueueUrl=queue, MessageBody="queue's delay")
    sqs.send_message(QueueUrl=queue, MessageBody="at once", DelaySeconds=0)
    sqs.send_message(QueueUrl=queue, MessageBody="own delay", DelaySeconds=600)
    assert bodies(sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)) == ["at once"]
    clock.move(61)
    assert "queue's delay" in bodies(
        sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=900)
    )
    clock.move(600)
    assert "own delay" in bodies(sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10))


def test_a_long_poll_returns_as_soon_as_one_message_is_there(sqs: Any, queue: str) -> None:
    timer = threading.Timer(0.3, sqs.send_message, kwargs={"QueueUrl": queue, "MessageBody": "late"})
    timer.start()
    started = time.monotonic()
    found = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=20)
    assert bodies(found) == ["late"]
    assert time.monotonic() - started < 15
    timer.join()


def test_the_queue_says_how_long_a_receive_waits(sqs: Any, new_queue: NewQueue) -> None:
    queue, started = new_queue(ReceiveMessageWaitTimeSeconds="1"), time.monotonic()
    assert bodies(sqs.receive_message(QueueUrl=queue)) == []
    assert time.monotonic() - started > 0.9


def test_deleting_twice_or_with_a_former_handle_is_no_error(sqs: Any, queue: str) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    former = one(sqs.receive_message(QueueUrl=queue, VisibilityTimeout=0))["ReceiptHandle"]
    latter = one(sqs.receive_message(QueueUrl=queue))["ReceiptHandle"]
    assert former != latter
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=former)
    counts = sqs.get_queue_attributes(
        QueueUrl=queue, AttributeNames=["ApproximateNumberOfMessagesNotVisible"]
    )
    assert counts["Attributes"]["ApproximateNumberOfMessagesNotVisible"] == "1"
    for _ in range(2):
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=latter)
    assert "Messages" not in sqs.receive_message(QueueUrl=queue)


def test_a_handle_still_deletes_after_its_timeout_if_nobody_has_received_since(
    sqs: Any, queue: str, clock: Clock
) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    handle = one(sqs.receive_message(QueueUrl=queue))["ReceiptHandle"]
    clock.move(31)
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=handle)
    assert "Messages" not in sqs.receive_message(QueueUrl=queue)


def test_a_handle_that_was_never_given_out_for_the_queue_is_refused(
    sqs: Any, queue: str, new_queue: NewQueue
) -> None:
    words = "is not a valid receipt handle."
    with refused("ReceiptHandleIsInvalid", f'The input receipt handle "garbage" {words}'):
        sqs.delete_message(QueueUrl=queue, ReceiptHandle="garbage")
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    handle = one(sqs.receive_message(QueueUrl=queue))["ReceiptHandle"]
    with refused("ReceiptHandleIsInvalid", words):
        sqs.delete_message(QueueUrl=new_queue(), ReceiptHandle=handle)
    with refused("ReceiptHandleIsInvalid", words):
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=handle[:-4] + "AAAA")


def test_a_group_in_a_standard_queue_orders_nothing_and_comes_back(sqs: Any, queue: str) -> None:
    for body in "ab":
        sqs.send_message(QueueUrl=queue, MessageBody=body, MessageGroupId="tenant")
    found = [one(sqs.receive_message(QueueUrl=queue, AttributeNames=["MessageGroupId"])) for _ in "ab"]
    assert {message["Body"] for message in found} == {"a", "b"}
    assert {message["Attributes"]["MessageGroupId"] for message in found} == {"tenant"}
    with refused("InvalidParameterValue", "MessageDeduplicationId"):
        sqs.send_message(QueueUrl=queue, MessageBody="x", MessageDeduplicationId="1")


def test_a_message_may_be_as_large_as_its_queue_says(sqs: Any, new_queue: NewQueue) -> None:
    words = "One or more parameters are invalid. Reason: Message must be shorter than {} bytes."
    queue, small = new_queue(), new_queue(MaximumMessageSize="1024")
    sqs.send_message(QueueUrl=queue, MessageBody="x" * LARGEST)
    assert len(one(sqs.receive_message(QueueUrl=queue))["Body"]) == LARGEST
    with refused("InvalidParameterValue", words.format(LARGEST)):
        sqs.send_message(QueueUrl=queue, MessageBody="x" * (LARGEST + 1))
    attributes = {"a": {"DataType": "String", "StringValue": "v" * 17}}
    sqs.send_message(QueueUrl=small, MessageBody="x" * 1000, MessageAttributes=attributes)
    with refused("InvalidParameterValue", words.format(1024)):
        sqs.send_message(QueueUrl=small, MessageBody="x" * 1001, MessageAttributes=attributes)


@pytest.mark.parametrize(
    ("parameters", "code", "words"),
    [
        ({"MessageBody": ""}, "MissingParameter", "The request must contain the parameter MessageBody."),
        ({"MessageBody": "\x00"}, "InvalidMessageContents", "Invalid characters found."),
        ({"MessageBody": "\ufffe"}, "InvalidMessageContents", "#xE000 to #xFFFD"),
        (
            {"MessageBody": "x", "DelaySeconds": 901},
            "InvalidParameterValue",
            "Value 901 for parameter DelaySeconds",
        ),
        (
            {"MessageBody": "x", "MessageGroupId": "a b"},
            "InvalidParameterValue",
            "MessageGroupId can only include",
        ),
    ],
)
def test_what_cannot_be_sent_is_refused_in_words(
    sqs: Any, queue: str, parameters: dict[str, Any], code: str, words: str
) -> None:
    with refused(code, words):
        sqs.send_message(QueueUrl=queue, **parameters)


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"a": {"DataType": "Float", "StringValue": "1"}}, "supported type prefixes: Binary, Number, String"),
        (
            {"a": {"DataType": "String", "StringValue": ""}},
            "must contain a non-empty message attribute value",
        ),
        ({"a": {"DataType": "Number", "StringValue": "many"}}, "to a number"),
        ({"AWS.x": {"DataType": "String", "StringValue": "v"}}, "message attribute name 'AWS.x' is invalid"),
        ({"a..b": {"DataType": "String", "StringValue": "v"}}, "message attribute name 'a..b' is invalid"),
        ({"sqs:group": {"DataType": "String", "StringValue": "v"}}, "is invalid"),
        (
            {f"a{n}": {"DataType": "String", "StringValue": "v"} for n in range(11)},
            "Number of message attributes [11] exceeds the allowed maximum [10].",
        ),
    ],
)
def test_attributes_that_aws_would_not_take_are_refused(
    sqs: Any, queue: str, attributes: dict[str, Any], words: str
) -> None:
    with refused("InvalidParameterValue", words):
        sqs.send_message(QueueUrl=queue, MessageBody="x", MessageAttributes=attributes)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (
            {"MaxNumberOfMessages": 11},
            "Value 11 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10,",
        ),
        (
            {"WaitTimeSeconds": 21},
            "Value 21 for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.",
        ),
        ({"VisibilityTimeout": 43_201}, "Value 43201 for parameter VisibilityTimeout is invalid."),
    ],
)
def test_a_receive_out_of_range_is_refused_in_aws_words(
    sqs: Any, queue: str, parameters: dict[str, Any], words: str
) -> None:
    with refused("InvalidParameterValue", words):
        sqs.receive_message(QueueUrl=queue, **parameters)


def test_a_queue_that_is_not_there_has_its_own_exception(sqs: Any, queue: str) -> None:
    with pytest.raises(sqs.exceptions.QueueDoesNotExist) as caught:
        sqs.send_message(QueueUrl=queue + "-not", MessageBody="x")
    assert caught.value.response["Error"] == {
        "Message": "The specified queue does not exist.",
        "Code": "AWS.SimpleQueueService.NonExistentQueue",
        "QueryErrorCode": "QueueDoesNotExist",
        "Type": "Sender",
    }


@pytest.mark.parametrize(
    "shape", ["{}", "http://elsewhere:1/queue/{}", "http://h/queue/us-east-1/1/{}", "http://h/1/{}/"]
)
def test_a_queue_is_found_by_the_last_part_of_any_url(sqs: Any, queue: str, shape: str) -> None:
    url = shape.format(queue.rpartition("/")[2])
    sqs.send_message(QueueUrl=url, MessageBody="x")
    assert bodies(sqs.receive_message(QueueUrl=queue)) == ["x"]
