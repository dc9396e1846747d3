"""FIFO queues: groups in order, and nothing twice."""

import hashlib
from typing import Any

import pytest

from tests.doors.http.sqs.asking import bodies, handles, one, refused
from tests.doors.http.sqs.conftest import NewQueue
from tests.doors.http.sqs.serving import Clock


def send(sqs: Any, queue: str, body: str, group: str = "g", **options: str) -> dict[str, Any]:
    """Send under a deduplication id of its own, unless another is given."""
    said = {"MessageDeduplicationId": f"{group}-{body}"} | options
    answer: dict[str, Any] = sqs.send_message(QueueUrl=queue, MessageBody=body, MessageGroupId=group, **said)
    return answer


def receive(sqs: Any, queue: str, **options: Any) -> dict[str, Any]:
    answer: dict[str, Any] = sqs.receive_message(QueueUrl=queue, **{"MaxNumberOfMessages": 10} | options)
    return answer


def test_a_receive_takes_the_oldest_group_in_order_and_then_the_next(sqs: Any, fifo: str) -> None:
    for group, body in (("g1", "a"), ("g2", "x"), ("g1", "b"), ("g1", "c")):
        send(sqs, fifo, body, group)
    assert bodies(receive(sqs, fifo, MaxNumberOfMessages=4)) == ["a", "b", "c", "x"]


def test_a_receive_of_fewer_leaves_the_rest_of_the_group_locked(sqs: Any, fifo: str) -> None:
    for group, body in (("g1", "a"), ("g1", "b"), ("g2", "x")):
        send(sqs, fifo, body, group)
    first = receive(sqs, fifo, MaxNumberOfMessages=1)
    assert bodies(first) == ["a"]
    assert bodies(receive(sqs, fifo)) == ["x"]
    sqs.delete_message(QueueUrl=fifo, ReceiptHandle=handles(first)[0])
    assert bodies(receive(sqs, fifo)) == ["b"]


def test_a_partial_delete_keeps_the_group_locked(sqs: Any, fifo: str, clock: Clock) -> None:
    for body in "abc":
        send(sqs, fifo, body)
    first = receive(sqs, fifo, MaxNumberOfMessages=2)
    sqs.delete_message(QueueUrl=fifo, ReceiptHandle=handles(first)[0])
    assert bodies(receive(sqs, fifo)) == []
    clock.move(31)
    assert bodies(receive(sqs, fifo)) == ["b", "c"]


def test_extending_one_message_keeps_the_group_locked(sqs: Any, fifo: str, clock: Clock) -> None:
    for body in "abc":
        send(sqs, fifo, body)
    later = handles(receive(sqs, fifo, MaxNumberOfMessages=2))[1]
    sqs.change_message_visibility(QueueUrl=fifo, ReceiptHandle=later, VisibilityTimeout=100)
    clock.move(31)
    assert bodies(receive(sqs, fifo)) == []
    clock.move(70)
    assert bodies(receive(sqs, fifo)) == ["a", "b", "c"]


def test_a_message_returned_while_a_later_one_is_held_waits_for_that(sqs: Any, fifo: str) -> None:
    for group, body in (("g1", "a"), ("g1", "b"), ("g2", "x")):
        send(sqs, fifo, body, group)
    first, second = handles(receive(sqs, fifo, MaxNumberOfMessages=2))
    sqs.change_message_visibility(QueueUrl=fifo, ReceiptHandle=first, VisibilityTimeout=0)
    assert bodies(receive(sqs, fifo, MaxNumberOfMessages=1)) == ["x"]
    assert bodies(receive(sqs, fifo)) == []
    sqs.delete_message(QueueUrl=fifo, ReceiptHandle=second)
    assert bodies(receive(sqs, fifo)) == ["a"]


def test_a_group_returned_whole_comes_again_in_order(sqs: Any, fifo: str) -> None:
    for body in "ab":
        send(sqs, fifo, body)
    for handle in handles(receive(sqs, fifo)):
        sqs.change_message_visibility(QueueUrl=fifo, ReceiptHandle=handle, VisibilityTimeout=0)
    assert bodies(receive(sqs, fifo)) == ["a", "b"]


def test_deleting_after_the_timeout_is_an_error(sqs: Any, fifo: str, clock: Clock) -> None:
    send(sqs, fifo, "a")
    handle = one(receive(sqs, fifo))["ReceiptHandle"]
    clock.move(31)
    words = f"Value {handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."
    with refused("InvalidParameterValue", words):
        sqs.delete_message(QueueUrl=fifo, ReceiptHandle=handle)
    (failed,) = sqs.delete_message_batch(QueueUrl=fifo, Entries=[{"Id": "a", "ReceiptHandle": handle}])[
        "Failed"
    ]
    assert (failed["Code"], failed["Message"]) == ("InvalidParameterValue", words)
    assert bodies(receive(sqs, fifo)) == ["a"]


def test_a_duplicate_is_answered_with_the_first_message_and_not_stored(sqs: Any, fifo: str) -> None:
    first = send(sqs, fifo, "a", MessageDeduplicationId="same")
    again = send(sqs, fifo, "b", "other", MessageDeduplicationId="same")
    assert again["MessageId"] == first["MessageId"]
    assert again["SequenceNumber"] == first["SequenceNumber"]
    assert bodies(receive(sqs, fifo)) == ["a"]


def test_a_duplicate_is_known_after_the_delete_and_for_five_minutes(
    sqs: Any, fifo: str, clock: Clock
) -> None:
    send(sqs, fifo, "a")
    sqs.delete_message(QueueUrl=fifo, ReceiptHandle=one(receive(sqs, fifo))["ReceiptHandle"])
    clock.move(299)
    send(sqs, fifo, "a")
    assert bodies(receive(sqs, fifo)) == []
    clock.move(2)
    send(sqs, fifo, "a")
    assert bodies(receive(sqs, fifo)) == ["a"]


def test_duplicates_within_a_batch_are_stored_once(sqs: Any, fifo: str) -> None:
    entry = {"MessageBody": "a", "MessageGroupId": "g", "MessageDeduplicationId": "1"}
    sent = sqs.send_message_batch(QueueUrl=fifo, Entries=[{"Id": "x", **entry}, {"Id": "y", **entry}])
    assert len({each["MessageId"] for each in sent["Successful"]}) == 1
    assert bodies(receive(sqs, fifo)) == ["a"]


def test_content_decides_if_the_queue_says_so(sqs: Any, new_queue: NewQueue) -> None:
    queue = new_queue(fifo=True, ContentBasedDeduplication="true")
    for _ in range(2):
        sqs.send_message(QueueUrl=queue, MessageBody="a", MessageGroupId="g")
    sqs.send_message(QueueUrl=queue, MessageBody="b", MessageGroupId="g")
    found = receive(sqs, queue, AttributeNames=["All"])
    assert bodies(found) == ["a", "b"]
    attributes = found["Messages"][0]["Attributes"]
    assert attributes["MessageDeduplicationId"] == hashlib.sha256(b"a").hexdigest()


def test_the_scope_of_deduplication_may_be_the_group(sqs: Any, new_queue: NewQueue) -> None:
    queue = new_queue(fifo=True, DeduplicationScope="messageGroup", FifoThroughputLimit="perMessageGroupId")
    for group in ("g1", "g2", "g1"):
        send(sqs, queue, "a", group, MessageDeduplicationId="same")
    assert bodies(receive(sqs, queue)) == ["a", "a"]


def test_the_scope_that_counts_is_the_one_at_creation(sqs: Any, fifo: str) -> None:
    sqs.set_queue_attributes(QueueUrl=fifo, Attributes={"DeduplicationScope": "messageGroup"})
    for group in ("g1", "g2"):
        send(sqs, fifo, "a", group, MessageDeduplicationId="same")
    assert bodies(receive(sqs, fifo)) == ["a"]
    shown = sqs.get_queue_attributes(QueueUrl=fifo, AttributeNames=["DeduplicationScope"])["Attributes"]
    assert shown == {"DeduplicationScope": "messageGroup"}


def test_a_purge_forgets_what_was_sent(sqs: Any, fifo: str) -> None:
    send(sqs, fifo, "a")
    sqs.purge_queue(QueueUrl=fifo)
    assert bodies(receive(sqs, fifo)) == []
    send(sqs, fifo, "a")
    assert bodies(receive(sqs, fifo)) == ["a"]


def test_sequence_numbers_have_twenty_digits_and_rise(sqs: Any, fifo: str) -> None:
    sent = [send(sqs, fifo, body)["SequenceNumber"] for body in "ab"]
    found = receive(sqs, fifo, AttributeNames=["SequenceNumber", "MessageGroupId", "MessageDeduplicationId"])
    told = [message["Attributes"] for message in found["Messages"]]
    assert [each["SequenceNumber"] for each in told] == sent == sorted(sent)
    assert [len(number) for number in sent] == [20, 20]
    assert told[0]["MessageGroupId"] == "g"
    assert told[1]["MessageDeduplicationId"] == "g-b"


def test_an_attempt_repeated_gets_the_same_messages_and_handles(sqs: Any, fifo: str, clock: Clock) -> None:
    for body in "ab":
        send(sqs, fifo, body)
    names = ["ApproximateReceiveCount"]
    first = receive(sqs, fifo, ReceiveRequestAttemptId="1", AttributeNames=names)
    clock.move(20)
    again = receive(sqs, fifo, ReceiveRequestAttemptId="1", AttributeNames=names)
    assert again["Messages"] == first["Messages"]
    clock.move(20)  # its timeout has begun anew
    assert bodies(receive(sqs, fifo, ReceiveRequestAttemptId="2")) == []
    sqs.delete_message(QueueUrl=fifo, ReceiptHandle=handles(first)[0])
    assert bodies(receive(sqs, fifo, ReceiveRequestAttemptId="1")) == []
    clock.move(31)
    assert bodies(receive(sqs, fifo, ReceiveRequestAttemptId="1")) == ["b"]


def test_the_delay_is_the_queues_and_none_may_have_its_own(
    sqs: Any, new_queue: NewQueue, clock: Clock
) -> None:
    queue = new_queue(fifo=True, DelaySeconds="60")
    send(sqs, queue, "a", DelaySeconds=0)  # type: ignore[arg-type]
    assert bodies(receive(sqs, queue)) == []
    clock.move(61)
    assert bodies(receive(sqs, queue)) == ["a"]
    words = "The request include parameter that is not valid for this queue type."
    with refused("InvalidParameterValue", f"Value 2 for parameter DelaySeconds is invalid. Reason: {words}"):
        send(sqs, queue, "b", DelaySeconds=2)  # type: ignore[arg-type]


def test_a_message_without_a_group_is_refused(sqs: Any, fifo: str) -> None:
    words = "The request must contain the parameter MessageGroupId."
    with refused("MissingParameter", words):
        sqs.send_message(QueueUrl=fifo, MessageBody="a", MessageDeduplicationId="1")
    with refused("InvalidParameterValue", words):
        sqs.send_message_batch(
            QueueUrl=fifo, Entries=[{"Id": "a", "MessageBody": "a", "MessageDeduplicationId": "1"}]
        )


def test_a_message_without_a_deduplication_id_is_refused(sqs: Any, fifo: str) -> None:
    words = (
        "The queue should either have ContentBasedDeduplication enabled or "
        "MessageDeduplicationId provided explicitly"
    )
    with refused("InvalidParameterValue", words):
        sqs.send_message(QueueUrl=fifo, MessageBody="a", MessageGroupId="g")


@pytest.mark.parametrize("name", ["MessageDeduplicationId", "MessageGroupId"])
@pytest.mark.parametrize("value", ["", "x" * 129, "white space", "ž"])
def test_ids_are_printable_ascii_up_to_128(sqs: Any, fifo: str, name: str, value: str) -> None:
    words = f"{name} can only include alphanumeric and punctuation characters. 1 to 128 in length."
    with refused("InvalidParameterValue", f"Value {value} for parameter {name} is invalid. Reason: {words}"):
        sqs.send_message(
            QueueUrl=fifo,
            MessageBody="x",
            **{"MessageGroupId": "g", "MessageDeduplicationId": "1"} | {name: value},
        )
