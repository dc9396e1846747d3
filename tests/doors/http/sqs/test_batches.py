"""Batches of up to ten: each entry with its own answer."""

from typing import Any

import pytest

from tests.doors.http.sqs.asking import bodies, refused

LARGEST = 2**20


def entries(*ids: str) -> list[dict[str, str]]:
    return [{"Id": id, "MessageBody": f"body {id}"} for id in ids]


def test_a_batch_is_sent_received_and_deleted(sqs: Any, queue: str) -> None:
    sent = sqs.send_message_batch(QueueUrl=queue, Entries=entries(*"abc"))
    assert [entry["Id"] for entry in sent["Successful"]] == ["a", "b", "c"]
    assert "Failed" not in sent
    found = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]
    assert {message["MessageId"] for message in found} == {each["MessageId"] for each in sent["Successful"]}
    answer = sqs.delete_message_batch(
        QueueUrl=queue,
        Entries=[
            *({"Id": f"d{n}", "ReceiptHandle": each["ReceiptHandle"]} for n, each in enumerate(found)),
            {"Id": "none", "ReceiptHandle": "garbage"},
        ],
    )
    assert [entry["Id"] for entry in answer["Successful"]] == ["d0", "d1", "d2"]
    (failed,) = answer["Failed"]
    assert (failed["Id"], failed["Code"], failed["SenderFault"]) == ("none", "ReceiptHandleIsInvalid", True)
    counts = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    assert counts["ApproximateNumberOfMessagesNotVisible"] == "0"


def test_an_entry_that_cannot_be_sent_fails_alone(sqs: Any, queue: str) -> None:
    bad = {"Id": "bad", "MessageBody": "\x01"}
    late = {"Id": "late", "MessageBody": "x", "DelaySeconds": 1000}
    sent = sqs.send_message_batch(QueueUrl=queue, Entries=[*entries("a"), bad, late])
    assert [entry["Id"] for entry in sent["Successful"]] == ["a"]
    assert {entry["Id"]: entry["Code"] for entry in sent["Failed"]} == {
        "bad": "InvalidMessageContents",
        "late": "InvalidParameterValue",
    }
    assert bodies(sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)) == ["body a"]


@pytest.mark.parametrize(
    ("ids", "code", "words"),
    [
        (
            [],
            "EmptyBatchRequest",
            "There should be at least one SendMessageBatchRequestEntry in the request.",
        ),
        (
            [str(n) for n in range(20)],
            "TooManyEntriesInBatchRequest",
            "Maximum number of entries per request are 10. You have sent 20.",
        ),
        (["a", "a"], "BatchEntryIdsNotDistinct", "Id a repeated."),
        (
            ["a b"],
            "InvalidBatchEntryId",
            "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be",
        ),
        (["x" * 81], "InvalidBatchEntryId", "It can be at most 80 letters long."),
    ],
)
def test_a_batch_that_makes_no_sense_is_refused_whole(
    sqs: Any, queue: str, ids: list[str], code: str, words: str
) -> None:
    with refused(f"AWS.SimpleQueueService.{code}", words):
        sqs.send_message_batch(QueueUrl=queue, Entries=entries(*ids))
    assert bodies(sqs.receive_message(QueueUrl=queue)) == []


def test_the_exceptions_have_their_own_classes(sqs: Any, queue: str) -> None:
    with pytest.raises(sqs.exceptions.EmptyBatchRequest):
        sqs.delete_message_batch(QueueUrl=queue, Entries=[])
    with pytest.raises(sqs.exceptions.EmptyBatchRequest):
        sqs.change_message_visibility_batch(QueueUrl=queue, Entries=[])


def test_a_batch_has_a_size_in_all_too(sqs: Any, queue: str) -> None:
    half = "x" * (LARGEST // 2)
    sqs.send_message_batch(
        QueueUrl=queue, Entries=[{"Id": "a", "MessageBody": half}, {"Id": "b", "MessageBody": half}]
    )
    words = f"Batch requests cannot be longer than {LARGEST} bytes. You have sent {LARGEST + 1} bytes."
    with refused("AWS.SimpleQueueService.BatchRequestTooLong", words):
        sqs.send_message_batch(
            QueueUrl=queue, Entries=[{"Id": "a", "MessageBody": half}, {"Id": "b", "MessageBody": half + "x"}]
        )


def test_an_entry_larger_than_the_queue_takes_fails_in_its_own_words(sqs: Any, queue: str) -> None:
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"MaximumMessageSize": "1024"})
    (failed,) = sqs.send_message_batch(QueueUrl=queue, Entries=[{"Id": "a", "MessageBody": "x" * 1025}])[
        "Failed"
    ]
    assert failed["Message"] == (
        "One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes."
    )
    assert (failed["Code"], failed["SenderFault"]) == ("InvalidParameterValue", True)
