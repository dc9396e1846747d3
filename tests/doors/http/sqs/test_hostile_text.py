"""Names, values and handles are the caller's: whatever they say, it is the caller's mistake."""

from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError

from tests.doors.http.sqs.asking import arn_of, bodies, one
from tests.doors.http.sqs.serving import REGION

TEXTS = [
    "\x00",
    "a\x00b",
    "\n",
    "\x1fhidden",
    "x" * 300,
    "'; DROP TABLE rowmq_messages; --",
    "%00",
    "%ff",
    "../..",
    "\ufffe",
]
ARN = f"arn:aws:sqs:{REGION}:1:"


def asked(sqs: Any, operation: str, **parameters: Any) -> int:
    """The status of an answer."""
    try:
        answer = getattr(sqs, operation)(**parameters)
    except ClientError as error:
        answer = error.response
    status: int = answer["ResponseMetadata"]["HTTPStatusCode"]
    return status


@pytest.mark.parametrize("text", TEXTS)
def test_a_name_is_refused_or_unknown_and_never_our_mistake(sqs: Any, queue: str, text: str) -> None:
    policy = f'{{"deadLetterTargetArn": "{ARN}x", "maxReceiveCount": 1}}'.replace(
        "x", text.replace("\n", "\\n")
    )
    for operation, parameters in (
        ("send_message", {"QueueUrl": text, "MessageBody": "x"}),
        ("receive_message", {"QueueUrl": f"http://h/1/{text}"}),
        ("get_queue_url", {"QueueName": text}),
        ("start_message_move_task", {"SourceArn": ARN + text}),
        ("cancel_message_move_task", {"TaskHandle": text}),
        ("list_message_move_tasks", {"SourceArn": text}),
        ("delete_message", {"QueueUrl": queue, "ReceiptHandle": text}),
        ("remove_permission", {"QueueUrl": queue, "Label": text}),
        ("get_queue_attributes", {"QueueUrl": queue, "AttributeNames": [text]}),
        ("set_queue_attributes", {"QueueUrl": queue, "Attributes": {text: "1"}}),
        ("set_queue_attributes", {"QueueUrl": queue, "Attributes": {"DelaySeconds": text}}),
        ("set_queue_attributes", {"QueueUrl": queue, "Attributes": {"RedrivePolicy": policy}}),
        ("create_queue", {"QueueName": text}),
    ):
        assert 400 <= asked(sqs, operation, **parameters) < 500, operation


@pytest.mark.parametrize("text", TEXTS)
def test_text_that_may_be_anything_is_taken_or_refused(sqs: Any, sns: Any, queue: str, text: str) -> None:
    for client, operation, parameters in (
        (sqs, "list_queues", {"QueueNamePrefix": text}),
        (sqs, "list_queues", {"NextToken": text, "MaxResults": 1}),
        (sqs, "tag_queue", {"QueueUrl": queue, "Tags": {text: text}}),
        (sqs, "untag_queue", {"QueueUrl": queue, "TagKeys": [text]}),
        (sqs, "receive_message", {"QueueUrl": queue, "MessageAttributeNames": [text]}),
        (sqs, "set_queue_attributes", {"QueueUrl": queue, "Attributes": {"KmsMasterKeyId": text}}),
        (sqs, "add_permission", {"QueueUrl": queue, "Label": "l", "AWSAccountIds": [text], "Actions": ["*"]}),
        (sns, "create_topic", {"Name": text}),
        (sns, "publish", {"TopicArn": f"arn:aws:sns:{REGION}:1:{text}", "Message": text, "Subject": text}),
        (sns, "unsubscribe", {"SubscriptionArn": f"arn:aws:sns:{REGION}:1:{text}:x"}),
        (sns, "list_topics", {"NextToken": text}),
    ):
        assert 200 <= asked(client, operation, **parameters) < 500, operation
    assert asked(sqs, "get_queue_attributes", QueueUrl=queue, AttributeNames=["All"]) == 200


def test_text_from_another_door_is_well_formed_xml(sqs: Any, endpoint: str, mq: Any, name: str) -> None:
    mq.queue(name).push("a\x00\x1f<&>b")
    answer = httpx.post(endpoint, data={"Action": "ReceiveMessage", "QueueUrl": name})
    assert "a\ufffd\ufffd&lt;&amp;&gt;b" in answer.text


def test_a_mistake_in_one_field_changes_nothing(sqs: Any, queue: str) -> None:
    said = {"DelaySeconds": "5", "VisibilityTimeout": "soon"}
    assert asked(sqs, "set_queue_attributes", QueueUrl=queue, Attributes=said) == 400
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    assert bodies(sqs.receive_message(QueueUrl=queue, VisibilityTimeout=0)) == ["x"]
    assert one(sqs.receive_message(QueueUrl=queue))["Body"] == "x"
    assert arn_of(sqs, queue)
