"""Topics: what boto3's SNS client publishes arrives in the queues that have subscribed."""

import json
from typing import Any

from rowmq.runtime.client import Client
from tests.doors.http.sqs.asking import arn_of, bodies, one, refused
from tests.doors.http.sqs.conftest import NewQueue
from tests.doors.http.sqs.serving import ACCOUNT


def subscribed(sqs: Any, sns: Any, topic: str, queue: str, *, raw: bool = False) -> str:
    attributes = {"RawMessageDelivery": "true"} if raw else {}
    arn: str = sns.subscribe(
        TopicArn=topic, Protocol="sqs", Endpoint=arn_of(sqs, queue), Attributes=attributes
    )["SubscriptionArn"]
    return arn


def test_every_subscribed_queue_gets_what_is_published(
    sqs: Any, sns: Any, name: str, new_queue: NewQueue
) -> None:
    topic = sns.create_topic(Name=name)["TopicArn"]
    assert topic == f"arn:aws:sns:us-east-1:{ACCOUNT}:{name}"
    wrapped, raw = new_queue(), new_queue()
    subscribed(sqs, sns, topic, wrapped)
    subscribed(sqs, sns, topic, raw, raw=True)
    attributes = {"kind": {"DataType": "String", "StringValue": "news"}}
    sent = sns.publish(TopicArn=topic, Message="hello", Subject="greeting", MessageAttributes=attributes)
    plain = one(sqs.receive_message(QueueUrl=raw, MessageAttributeNames=["All"]))
    assert (plain["Body"], plain["MessageAttributes"]) == ("hello", attributes)
    envelope = json.loads(one(sqs.receive_message(QueueUrl=wrapped))["Body"])
    assert envelope.pop("Timestamp").endswith("Z")
    assert envelope == {
        "Type": "Notification",
        "MessageId": sent["MessageId"],
        "TopicArn": topic,
        "Subject": "greeting",
        "Message": "hello",
        "SignatureVersion": "1",
        "Signature": "",
        "SigningCertURL": "",
        "UnsubscribeURL": "",
        "MessageAttributes": {"kind": {"Type": "String", "Value": "news"}},
    }


def test_what_is_published_to_nobody_is_gone(sqs: Any, sns: Any, name: str, queue: str) -> None:
    topic = sns.create_topic(Name=name)["TopicArn"]
    assert sns.publish(TopicArn=topic, Message="lost")["MessageId"]
    subscribed(sqs, sns, topic, queue, raw=True)
    assert bodies(sqs.receive_message(QueueUrl=queue)) == []


def test_a_batch_is_published_and_tells_what_failed(sqs: Any, sns: Any, name: str, queue: str) -> None:
    topic = sns.create_topic(Name=name)["TopicArn"]
    subscribed(sqs, sns, topic, queue, raw=True)
    entries = [{"Id": "a", "Message": "1"}, {"Id": "bad", "Message": ""}, {"Id": "b", "Message": "2"}]
    answer = sns.publish_batch(TopicArn=topic, PublishBatchRequestEntries=entries)
    assert [entry["Id"] for entry in answer["Successful"]] == ["a", "b"]
    assert [(entry["Id"], entry["SenderFault"]) for entry in answer["Failed"]] == [("bad", True)]
    assert sorted(bodies(sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10))) == ["1", "2"]


def test_a_message_may_have_a_text_for_each_protocol(sqs: Any, sns: Any, name: str, queue: str) -> None:
    topic = sns.create_topic(Name=name)["TopicArn"]
    subscribed(sqs, sns, topic, queue, raw=True)
    for said in ({"default": "d", "sqs": "s"}, {"default": "d"}):
        sns.publish(TopicArn=topic, Message=json.dumps(said), MessageStructure="json")
    assert sorted(bodies(sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10))) == ["d", "s"]
    with refused("InvalidParameter", "No default entry in JSON message body"):
        sns.publish(TopicArn=topic, Message="{}", MessageStructure="json")


def test_a_fifo_topic_keeps_order_and_knows_duplicates(sqs: Any, sns: Any, name: str, fifo: str) -> None:
    topic = sns.create_topic(Name=f"{name}.fifo", Attributes={"FifoTopic": "true"})["TopicArn"]
    subscribed(sqs, sns, topic, fifo, raw=True)
    for body in "aba":
        sent = sns.publish(TopicArn=topic, Message=body, MessageGroupId="g", MessageDeduplicationId=body)
        assert len(sent["SequenceNumber"]) == 20
    assert bodies(sqs.receive_message(QueueUrl=fifo, MaxNumberOfMessages=10)) == ["a", "b"]


def test_subscriptions_are_listed_shown_changed_and_ended(sqs: Any, sns: Any, name: str, queue: str) -> None:
    topic = sns.create_topic(Name=name)["TopicArn"]
    arn = subscribed(sqs, sns, topic, queue)
    assert subscribed(sqs, sns, topic, queue) == arn
    shown = {
        "TopicArn": topic,
        "Protocol": "sqs",
        "SubscriptionArn": arn,
        "Owner": ACCOUNT,
        "Endpoint": arn_of(sqs, queue),
    }
    assert sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"] == [shown]
    assert shown in sns.list_subscriptions()["Subscriptions"]
    attributes = sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"]
    assert attributes["RawMessageDelivery"] == "false"
    sns.set_subscription_attributes(
        SubscriptionArn=arn, AttributeName="RawMessageDelivery", AttributeValue="true"
    )
    sns.publish(TopicArn=topic, Message="raw now")
    assert bodies(sqs.receive_message(QueueUrl=queue)) == ["raw now"]
    assert sns.get_topic_attributes(TopicArn=topic)["Attributes"]["SubscriptionsConfirmed"] == "1"
    for _ in range(2):
        sns.unsubscribe(SubscriptionArn=arn)
    assert sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"] == []
    with refused("NotFound", "Subscription does not exist", status=404):
        sns.get_subscription_attributes(SubscriptionArn=arn)


def test_topics_are_listed_until_they_are_deleted(sqs: Any, sns: Any, name: str, queue: str) -> None:
    topic = sns.create_topic(Name=name, Tags=[{"Key": "a", "Value": "b"}])["TopicArn"]
    assert {"TopicArn": topic} in sns.list_topics()["Topics"]
    subscribed(sqs, sns, topic, queue)
    for _ in range(2):
        sns.delete_topic(TopicArn=topic)
    assert {"TopicArn": topic} not in sns.list_topics()["Topics"]
    sns.publish(TopicArn=topic, Message="x")
    assert bodies(sqs.receive_message(QueueUrl=queue)) == []


def test_lists_of_topics_have_pages(sns: Any, name: str) -> None:
    made = {sns.create_topic(Name=f"{name}-{n}")["TopicArn"] for n in range(120)}
    pages = [page["Topics"] for page in sns.get_paginator("list_topics").paginate()]
    assert len(pages) == 2
    assert made <= {topic["TopicArn"] for page in pages for topic in page}


def test_a_topic_is_the_same_through_every_door(
    sqs: Any, sns: Any, mq: Client, name: str, queue: str, new_queue: NewQueue
) -> None:
    topic, bound = sns.create_topic(Name=name)["TopicArn"], new_queue().rpartition("/")[2]
    subscribed(sqs, sns, topic, queue, raw=True)
    mq.topic(name).subscribe(bound)
    sns.publish(TopicArn=topic, Message='{"n": 1}')
    (claimed,) = mq.queue(bound).claim()
    assert claimed.payload == {"n": 1}
    mq.topic(name).publish({"n": 2})
    assert sorted(bodies(sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10))) == [
        '{"n": 1}',
        '{"n":2}',
    ]


def test_what_topics_cannot_do_is_refused(sqs: Any, sns: Any, name: str, queue: str) -> None:
    topic, endpoint = sns.create_topic(Name=name)["TopicArn"], arn_of(sqs, queue)
    with refused("InvalidParameter", "Does not support this protocol string: email"):
        sns.subscribe(TopicArn=topic, Protocol="email", Endpoint="ada@example.com")
    with refused("InvalidParameter", "FilterPolicy is not supported here"):
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=endpoint, Attributes={"FilterPolicy": "{}"})
    with refused("AWS.SimpleQueueService.NonExistentQueue"):
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=endpoint + "-not")
    with refused("InvalidParameter", "Topic Name"):
        sns.create_topic(Name="a b")
    with refused("InvalidParameter", "Empty message"):
        sns.publish(TopicArn=topic, Message="")
    with refused("InvalidParameterValue", "it is no ARN of sns"):
        sns.publish(TopicArn="garbage", Message="x")
