"""Work for an old boto3, which speaks the query protocol; run as a program with that boto3 on its path."""

import json
import sys
from typing import Any

import boto3
from botocore.exceptions import ClientError

endpoint, name, part = sys.argv[1:]
sqs: Any = boto3.client("sqs", endpoint_url=endpoint)


def messages(url: str) -> None:
    body = 'say "hi" & <go>\r\n žluť 🐎'
    attributes = {
        "text": {"DataType": "String", "StringValue": "v"},
        "raw": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
    }
    sent = sqs.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=attributes)
    (message,) = sqs.receive_message(
        QueueUrl=url, AttributeNames=["All"], MessageAttributeNames=["All"], WaitTimeSeconds=5
    )["Messages"]
    assert message["Body"] == body
    assert message["MessageId"] == sent["MessageId"]
    assert message["MD5OfBody"] == sent["MD5OfMessageBody"]
    assert message["MessageAttributes"] == attributes
    assert message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
    handle = message["ReceiptHandle"]
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=0)
    (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    assert "Messages" not in sqs.receive_message(QueueUrl=url)


def batches(url: str) -> None:
    entries = [{"Id": str(n), "MessageBody": f"body {n}"} for n in range(10)]
    sent = sqs.send_message_batch(QueueUrl=url, Entries=entries)
    assert [entry["Id"] for entry in sent["Successful"]] == [str(n) for n in range(10)]
    got = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    held = [{"Id": str(n), "ReceiptHandle": each["ReceiptHandle"]} for n, each in enumerate(got)]
    changed = sqs.change_message_visibility_batch(
        QueueUrl=url, Entries=[{**entry, "VisibilityTimeout": 60} for entry in held]
    )
    assert len(changed["Successful"]) == 10
    deleted = sqs.delete_message_batch(QueueUrl=url, Entries=[*held[:9], {"Id": "x", "ReceiptHandle": "y"}])
    assert len(deleted["Successful"]) == 9
    assert [(each["Id"], each["Code"]) for each in deleted["Failed"]] == [("x", "ReceiptHandleIsInvalid")]


def queues(url: str) -> None:
    assert sqs.get_queue_url(QueueName=name)["QueueUrl"] == url
    assert sqs.list_queues(QueueNamePrefix=name)["QueueUrls"] == [url]
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "7", "DelaySeconds": "1"})
    shown = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout", "DelaySeconds"])
    assert shown["Attributes"] == {"VisibilityTimeout": "7", "DelaySeconds": "1"}
    sqs.tag_queue(QueueUrl=url, Tags={"a": "1", "b": "2"})
    sqs.untag_queue(QueueUrl=url, TagKeys=["a"])
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"b": "2", "team": "mail"}
    sqs.add_permission(QueueUrl=url, Label="l", AWSAccountIds=["1"], Actions=["SendMessage"])
    sqs.remove_permission(QueueUrl=url, Label="l")
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 3})
    source = sqs.create_queue(QueueName=f"source-{name}", Attributes={"RedrivePolicy": policy})["QueueUrl"]
    assert sqs.list_dead_letter_source_queues(QueueUrl=url)["queueUrls"] == [source]
    sqs.purge_queue(QueueUrl=url)
    sqs.delete_queue(QueueUrl=url)


def failures(url: str) -> None:
    caught = {}
    asked: dict[str, tuple[Any, dict[str, Any]]] = {
        "absent": (sqs.send_message, {"QueueUrl": url + "-not", "MessageBody": "x"}),
        "handle": (sqs.delete_message, {"QueueUrl": url, "ReceiptHandle": "garbage"}),
        "range": (sqs.receive_message, {"QueueUrl": url, "MaxNumberOfMessages": 11}),
        "exists": (sqs.create_queue, {"QueueName": name, "Attributes": {"DelaySeconds": "9"}}),
    }
    for what, (ask, parameters) in asked.items():
        try:
            ask(**parameters)
        except ClientError as error:
            caught[what] = error.response["Error"]["Code"]
    assert caught == {
        "absent": "AWS.SimpleQueueService.NonExistentQueue",
        "handle": "ReceiptHandleIsInvalid",
        "range": "InvalidParameterValue",
        "exists": "QueueAlreadyExists",
    }, caught
    try:
        sqs.delete_queue(QueueUrl=url + "-not")
    except sqs.exceptions.QueueDoesNotExist as error:
        assert "for this wsdl version" in str(error)  # noqa: PT017 - a program, without pytest


globals()[part](sqs.create_queue(QueueName=name, tags={"team": "mail"})["QueueUrl"])
print(json.dumps({"protocol": sqs.meta.service_model.protocol, "done": part}))  # noqa: T201 - its answer
