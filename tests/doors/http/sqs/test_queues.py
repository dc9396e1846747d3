"""Queues: made, found, listed, set, tagged, purged and deleted."""

import json
import time
from typing import Any
from urllib.parse import urlsplit

import pytest

from rowmq.runtime.client import Client
from tests.doors.http.sqs.asking import arn_of, bodies, one, refused
from tests.doors.http.sqs.conftest import NewQueue
from tests.doors.http.sqs.serving import ACCOUNT, client_of


def attributes(sqs: Any, queue: str, *names: str) -> dict[str, str]:
    found: dict[str, str] = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=list(names)).get(
        "Attributes", {}
    )
    return found


def test_a_queues_url_has_the_host_that_the_caller_used(sqs: Any, endpoint: str, name: str) -> None:
    port = urlsplit(endpoint).port
    elsewhere = client_of("sqs", f"http://localhost:{port}")
    assert sqs.create_queue(QueueName=name)["QueueUrl"] == f"http://127.0.0.1:{port}/{ACCOUNT}/{name}"
    assert elsewhere.get_queue_url(QueueName=name)["QueueUrl"] == f"http://localhost:{port}/{ACCOUNT}/{name}"


def test_a_queue_that_is_not_there_has_no_url(sqs: Any, name: str) -> None:
    with refused("AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist."):
        sqs.get_queue_url(QueueName=name)


def test_a_new_queue_has_aws_defaults(sqs: Any, queue: str) -> None:
    shown = attributes(sqs, queue, "All")
    for stamp in ("CreatedTimestamp", "LastModifiedTimestamp"):
        assert abs(int(shown.pop(stamp)) - time.time()) < 60
    assert shown == {
        "ApproximateNumberOfMessages": "0",
        "ApproximateNumberOfMessagesDelayed": "0",
        "ApproximateNumberOfMessagesNotVisible": "0",
        "DelaySeconds": "0",
        "MaximumMessageSize": "1048576",
        "MessageRetentionPeriod": "345600",
        "QueueArn": f"arn:aws:sqs:us-east-1:{ACCOUNT}:{queue.rpartition('/')[2]}",
        "ReceiveMessageWaitTimeSeconds": "0",
        "SqsManagedSseEnabled": "true",
        "VisibilityTimeout": "30",
    }


def test_a_new_fifo_queue_says_that_it_is_one(sqs: Any, fifo: str) -> None:
    shown = attributes(
        sqs, fifo, "FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"
    )
    assert shown == {
        "ContentBasedDeduplication": "false",
        "DeduplicationScope": "queue",
        "FifoQueue": "true",
        "FifoThroughputLimit": "perQueue",
    }


def test_the_attributes_asked_for_are_given_and_none_if_none_are(sqs: Any, queue: str) -> None:
    assert attributes(sqs, queue, "DelaySeconds") == {"DelaySeconds": "0"}
    assert attributes(sqs, queue) == {}
    with refused("InvalidAttributeName", "Unknown Attribute Colour."):
        attributes(sqs, queue, "Colour")


def test_attributes_are_counted_by_state(sqs: Any, queue: str) -> None:
    for delay in (0, 0, 0, 900):
        sqs.send_message(QueueUrl=queue, MessageBody="x", DelaySeconds=delay)
    sqs.receive_message(QueueUrl=queue)
    shown = attributes(sqs, queue, "All")
    assert shown["ApproximateNumberOfMessages"] == "2"
    assert shown["ApproximateNumberOfMessagesNotVisible"] == "1"
    assert shown["ApproximateNumberOfMessagesDelayed"] == "1"


SETTABLE = {
    "VisibilityTimeout": "5",
    "DelaySeconds": "6",
    "MessageRetentionPeriod": "60",
    "MaximumMessageSize": "2048",
    "ReceiveMessageWaitTimeSeconds": "7",
    "SqsManagedSseEnabled": "false",
    "KmsMasterKeyId": "alias/aws/sqs",
    "KmsDataKeyReusePeriodSeconds": "60",
    "Policy": '{"Version":"2012-10-17","Statement":[]}',
}


def test_every_attribute_can_be_set_and_is_shown(sqs: Any, queue: str, new_queue: NewQueue) -> None:
    sqs.set_queue_attributes(QueueUrl=queue, Attributes=SETTABLE)
    assert attributes(sqs, queue, *SETTABLE) == SETTABLE
    assert attributes(sqs, new_queue(**SETTABLE), *SETTABLE) == SETTABLE
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": ""})
    assert attributes(sqs, queue, "Policy") == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VisibilityTimeout", "43201"),
        ("VisibilityTimeout", "-1"),
        ("VisibilityTimeout", "soon"),
        ("DelaySeconds", "901"),
        ("MessageRetentionPeriod", "59"),
        ("MaximumMessageSize", "1023"),
        ("ReceiveMessageWaitTimeSeconds", "21"),
        ("SqsManagedSseEnabled", "yes"),
        ("KmsDataKeyReusePeriodSeconds", "1"),
        ("Policy", "[]"),
        ("Policy", "{"),
        ("DelaySeconds", "9" * 5000),
    ],
)
def test_a_value_that_cannot_be_is_refused(sqs: Any, queue: str, name: str, value: str) -> None:
    with refused("InvalidAttributeValue", f"Invalid value for the parameter {name}."):
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={name: value})
    assert attributes(sqs, queue, "DelaySeconds", "VisibilityTimeout") == {
        "DelaySeconds": "0",
        "VisibilityTimeout": "30",
    }


def test_attributes_of_fifo_queues_are_for_fifo_queues(sqs: Any, queue: str, fifo: str, name: str) -> None:
    words = "You can specify the DeduplicationScope only when FifoQueue is set to true."
    with refused("InvalidAttributeName", words):
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"DeduplicationScope": "queue"})
    with refused("InvalidAttributeName", "Unknown Attribute FifoQueue."):
        sqs.create_queue(QueueName=name, Attributes={"FifoQueue": "false"})
    with refused("InvalidAttributeName", "Unknown Attribute Colour."):
        sqs.create_queue(QueueName=name, Attributes={"Colour": "red"})
    with refused("InvalidParameterValue", "FifoQueue"):
        sqs.set_queue_attributes(QueueUrl=fifo, Attributes={"FifoQueue": "true"})
    sqs.set_queue_attributes(QueueUrl=fifo, Attributes={"ContentBasedDeduplication": "true"})
    assert attributes(sqs, fifo, "ContentBasedDeduplication") == {"ContentBasedDeduplication": "true"}


def test_creating_a_queue_again_with_what_it_has_is_no_error(sqs: Any, name: str) -> None:
    first = sqs.create_queue(QueueName=name, Attributes={"DelaySeconds": "5", "Policy": '{"a": 1}'})
    for given in ({}, {"DelaySeconds": "5"}, {"VisibilityTimeout": "30", "Policy": '{"a":1}'}):
        assert sqs.create_queue(QueueName=name, Attributes=given)["QueueUrl"] == first["QueueUrl"]
    words = "A queue already exists with the same name and a different value for attribute DelaySeconds"
    with refused("QueueAlreadyExists", words):
        sqs.create_queue(QueueName=name, Attributes={"DelaySeconds": "6"})
    with pytest.raises(sqs.exceptions.QueueNameExists):
        sqs.create_queue(QueueName=name, Attributes={"Policy": '{"a": 2}'})
    assert attributes(sqs, first["QueueUrl"], "DelaySeconds") == {"DelaySeconds": "5"}


@pytest.mark.parametrize("bad", ["", "a b", "a/b", "x" * 81, "x" * 76 + ".fifo", "ž", "a.b", "a.fifo"])
def test_names_that_aws_would_not_take_are_refused(sqs: Any, bad: str) -> None:
    with refused("InvalidParameterValue", "alphanumeric characters, hyphens, or underscores"):
        sqs.create_queue(QueueName=bad, Attributes={"FifoQueue": "true"} if len(bad) == 81 else {})


def test_a_fifo_queues_name_must_say_so(sqs: Any, name: str) -> None:
    with refused("InvalidParameterValue", "must end with .fifo suffix"):
        sqs.create_queue(QueueName=name, Attributes={"FifoQueue": "true"})


def test_queues_are_listed_by_prefix_and_in_pages(sqs: Any, name: str) -> None:
    assert "QueueUrls" not in sqs.list_queues(QueueNamePrefix=f"{name}-")
    made = [sqs.create_queue(QueueName=f"{name}-{n}")["QueueUrl"] for n in range(5)]
    assert sqs.list_queues(QueueNamePrefix=f"{name}-")["QueueUrls"] == made
    pages = sqs.get_paginator("list_queues").paginate(
        QueueNamePrefix=f"{name}-", PaginationConfig={"PageSize": 2}
    )
    found = [page["QueueUrls"] for page in pages]
    assert found == [made[:2], made[2:4], made[4:]]
    with refused("InvalidParameterValue", "MaxResults"):
        sqs.list_queues(MaxResults=1001)
    with refused("InvalidParameterValue", "NextToken"):
        sqs.list_queues(MaxResults=1, NextToken="ž")


def test_tags_are_added_changed_listed_and_removed(sqs: Any, new_queue: NewQueue) -> None:
    queue = new_queue(tags={"team": "mail"})
    sqs.tag_queue(QueueUrl=queue, Tags={"team": "post", "empty": ""})
    assert sqs.list_queue_tags(QueueUrl=queue)["Tags"] == {"team": "post", "empty": ""}
    sqs.untag_queue(QueueUrl=queue, TagKeys=["team", "unknown"])
    assert sqs.list_queue_tags(QueueUrl=queue)["Tags"] == {"empty": ""}
    sqs.untag_queue(QueueUrl=queue, TagKeys=["empty"])
    assert "Tags" not in sqs.list_queue_tags(QueueUrl=queue)


def test_the_doors_own_tags_are_neither_shown_nor_changed(sqs: Any, queue: str) -> None:
    for key in ("sqs:created", "aws:x", "AWS:x", "", "x" * 129):
        with refused("InvalidParameterValue"):
            sqs.tag_queue(QueueUrl=queue, Tags={key: "1"})
    sqs.untag_queue(QueueUrl=queue, TagKeys=["sqs:created"])
    assert "CreatedTimestamp" in attributes(sqs, queue, "CreatedTimestamp")
    assert "Tags" not in sqs.list_queue_tags(QueueUrl=queue)


def test_a_queue_has_at_most_fifty_tags(sqs: Any, queue: str) -> None:
    sqs.tag_queue(QueueUrl=queue, Tags={str(n): "x" for n in range(50)})
    with refused("InvalidParameterValue", "Too many tags"):
        sqs.tag_queue(QueueUrl=queue, Tags={"one more": "x"})


def test_permissions_are_statements_of_the_policy(sqs: Any, queue: str) -> None:
    sqs.add_permission(
        QueueUrl=queue, Label="one", AWSAccountIds=["111122223333"], Actions=["SendMessage", "ReceiveMessage"]
    )
    sqs.add_permission(QueueUrl=queue, Label="two", AWSAccountIds=["1", "2"], Actions=["*"])
    policy = json.loads(attributes(sqs, queue, "Policy")["Policy"])
    assert policy["Statement"][0] == {
        "Sid": "one",
        "Effect": "Allow",
        "Principal": {"AWS": "arn:aws:iam::111122223333:root"},
        "Action": ["SQS:SendMessage", "SQS:ReceiveMessage"],
        "Resource": arn_of(sqs, queue),
    }
    with refused(
        "InvalidParameterValue", "Value one for parameter Label is invalid. Reason: Already exists."
    ):
        sqs.add_permission(QueueUrl=queue, Label="one", AWSAccountIds=["1"], Actions=["*"])
    sqs.remove_permission(QueueUrl=queue, Label="one")
    with refused(
        "InvalidParameterValue", "Value one for parameter Label is invalid. Reason: can't find label."
    ):
        sqs.remove_permission(QueueUrl=queue, Label="one")
    sqs.remove_permission(QueueUrl=queue, Label="two")
    assert attributes(sqs, queue, "Policy") == {}


def test_permissions_that_cannot_be_are_refused(sqs: Any, queue: str) -> None:
    def add(
        label: str = "x", actions: tuple[str, ...] = ("SendMessage",), accounts: tuple[str, ...] = ("1",)
    ) -> None:
        sqs.add_permission(QueueUrl=queue, Label=label, AWSAccountIds=list(accounts), Actions=list(actions))

    with refused("InvalidParameterValue", "Label"):
        add(label="a b")
    with refused("InvalidParameterValue", "Value SQS:CreateQueue for parameter ActionName is invalid."):
        add(actions=("CreateQueue",))
    with refused("OverLimit", "8 Actions were found, maximum allowed is 7.", status=403):
        add(actions=("SendMessage",) * 8)
    with refused("MissingParameter", "Actions"):
        add(actions=())
    with refused("MissingParameter", "AWSAccountIds"):
        add(accounts=())


def test_a_policy_of_any_shape_bears_permissions(sqs: Any, queue: str) -> None:
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": '{"Statement": {"Sid": "mine"}}'})
    sqs.add_permission(QueueUrl=queue, Label="one", AWSAccountIds=["1"], Actions=["*"])
    policy = json.loads(attributes(sqs, queue, "Policy")["Policy"])
    assert [each["Sid"] for each in policy["Statement"]] == ["mine", "one"]


def test_a_purge_takes_messages_in_flight_and_delayed_too(sqs: Any, queue: str) -> None:
    for delay in (0, 0, 900):
        sqs.send_message(QueueUrl=queue, MessageBody="x", DelaySeconds=delay)
    handle = one(sqs.receive_message(QueueUrl=queue))["ReceiptHandle"]
    for _ in range(2):  # one after the other, unless the server was told to have callers wait
        sqs.purge_queue(QueueUrl=queue)
    shown = attributes(sqs, queue, "All")
    assert [shown[name] for name in shown if name.startswith("Approximate")] == ["0", "0", "0"]
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=handle)
    sqs.send_message(QueueUrl=queue, MessageBody="new")
    assert bodies(sqs.receive_message(QueueUrl=queue)) == ["new"]


def test_a_deleted_queue_is_gone_and_its_name_free(sqs: Any, name: str) -> None:
    url = sqs.create_queue(QueueName=name, Attributes={"DelaySeconds": "5"})["QueueUrl"]
    sqs.delete_queue(QueueUrl=url)
    for ask in (sqs.delete_queue, sqs.receive_message, sqs.purge_queue, sqs.list_queue_tags):
        with refused("AWS.SimpleQueueService.NonExistentQueue"):
            ask(QueueUrl=url)
    sqs.create_queue(QueueName=name)
    assert attributes(sqs, url, "DelaySeconds") == {"DelaySeconds": "0"}


def test_retention_is_the_age_at_which_messages_go(
    sqs: Any, mq: Client, new_queue: NewQueue, clock: Any
) -> None:
    queue = new_queue(MessageRetentionPeriod="60")
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    clock.move(61)
    assert bodies(sqs.receive_message(QueueUrl=queue)) == []
    found = mq.store.queues.get(queue.rpartition("/")[2])
    assert found is not None
    assert found.max_age is not None
    assert found.max_age.total_seconds() == 60
