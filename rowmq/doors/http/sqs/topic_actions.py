"""The operations of SNS: the right each needs, on the topic that it is about, and who performs it."""

from collections.abc import Mapping
from typing import Any

from rowmq.core.names import check_name
from rowmq.doors.http.sqs import publishing, shapes, subscribing, topics
from rowmq.doors.http.sqs.actions import Action, by_nothing
from rowmq.doors.http.sqs.address import named_by_arn
from rowmq.doors.http.sqs.errors import missing
from rowmq.doors.http.sqs.subscription import topic_of
from rowmq.doors.right import Right


def by_topic_name(given: Any) -> str:
    """The topic of a Name."""
    name: str = given.name
    return check_name(name, "topic name")


def by_topic(given: Any) -> str:
    """The topic of a TopicArn."""
    return named_by_arn(given.topic_arn, "TopicArn", kind="sns")


def by_target(given: Any) -> str:
    """The topic of a TopicArn or TargetArn."""
    arn = given.topic_arn or given.target_arn
    if not arn:
        raise missing("TopicArn")
    return named_by_arn(arn, "TopicArn", kind="sns")


def by_subscription(given: Any) -> str:
    """The topic of a SubscriptionArn."""
    return topic_of(given.subscription_arn)


TOPIC_ACTIONS: Mapping[str, Action] = {
    "CreateTopic": Action(Right.MANAGE, by_topic_name, shapes.CreateTopic, topics.create_topic),
    "DeleteTopic": Action(Right.MANAGE, by_topic, shapes.OfTopic, topics.delete_topic),
    "ListTopics": Action(Right.READ, by_nothing, shapes.ListTopics, topics.list_topics),
    "GetTopicAttributes": Action(Right.READ, by_topic, shapes.OfTopic, topics.get_topic_attributes),
    "Publish": Action(Right.PUSH, by_target, shapes.Publish, publishing.publish),
    "PublishBatch": Action(Right.PUSH, by_topic, shapes.PublishBatch, publishing.publish_batch),
    "Subscribe": Action(Right.MANAGE, by_topic, shapes.Subscribe, subscribing.subscribe),
    "Unsubscribe": Action(Right.MANAGE, by_subscription, shapes.OfSubscription, subscribing.unsubscribe),
    "ListSubscriptions": Action(Right.READ, by_nothing, shapes.ListTopics, subscribing.list_subscriptions),
    "ListSubscriptionsByTopic": Action(
        Right.READ, by_topic, shapes.ListSubscriptionsByTopic, subscribing.list_subscriptions_by_topic
    ),
    "GetSubscriptionAttributes": Action(
        Right.READ, by_subscription, shapes.OfSubscription, subscribing.get_subscription_attributes
    ),
    "SetSubscriptionAttributes": Action(
        Right.MANAGE,
        by_subscription,
        shapes.SetSubscriptionAttributes,
        subscribing.set_subscription_attributes,
    ),
}
"""The part of SNS that queues need."""
