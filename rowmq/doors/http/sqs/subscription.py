"""Subscriptions: a queue bound to a topic, with what SNS wants to know of it in the queue's tags."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from rowmq.core.queue import Queue
from rowmq.doors.http.sqs.address import named_by_arn, topic_arn
from rowmq.doors.http.sqs.asked import Asked, Result
from rowmq.doors.http.sqs.errors import Fault
from rowmq.doors.http.sqs.reserved import SUBSCRIPTION
from rowmq.doors.http.sqs.settings import Settings
from rowmq.doors.right import Right

RAW = "RawMessageDelivery"
ENVELOPE = "envelope"
PARAMETER = "SubscriptionArn"


class Subscription(NamedTuple):
    """One queue's subscription to one topic."""

    topic: str
    queue: str

    def arn(self, settings: Settings) -> str:
        """Its ARN, always the same for the same two."""
        return f"{topic_arn(settings, self.topic)}:{uuid5(NAMESPACE_URL, f'{self.topic} {self.queue}')}"

    def shown(self, settings: Settings, endpoint: str) -> Result:
        """As a list of subscriptions has it."""
        return {
            "TopicArn": topic_arn(settings, self.topic),
            "Protocol": "sqs",
            PARAMETER: self.arn(settings),
            "Owner": settings.account,
            "Endpoint": endpoint,
        }


def topic_of(subscription_arn: str) -> str:
    """The topic that a subscription's ARN names. Raises Fault."""
    topic, colon, id = subscription_arn.rpartition(":")
    if not colon or not id:
        raise invalid_parameter(f"{PARAMETER} Reason: An ARN must have at least 6 elements")
    return named_by_arn(topic, PARAMETER, kind="sns")


async def subscriptions(asked: Asked, topic: str | None = None) -> list[Subscription]:
    """Those of a topic, or all that the caller may read."""
    pairs = await asked.call.run(lambda: asked.store.topics.bindings(topic))
    return [Subscription(*pair) for pair in pairs if asked.call.principal.may(Right.READ, pair[0])]


async def find(asked: Asked, arn: str) -> Subscription | None:
    """The subscription of an ARN to the topic asked about."""
    pairs = await asked.call.run(lambda: asked.store.topics.bindings(asked.name))
    found: Sequence[Subscription] = [Subscription(*pair) for pair in pairs]
    return next((each for each in found if each.arn(asked.settings) == arn), None)


def is_raw(queue: Queue, topic: str) -> bool:
    """Whether the queue wants what was published just as it is; also if it was bound through another door."""
    return queue.tags.get(SUBSCRIPTION + topic) != ENVELOPE


def with_rawness(queue: Queue, topic: str, *, raw: bool) -> dict[str, dict[str, str]]:
    """The change of a queue that says so."""
    key = SUBSCRIPTION + topic
    others = {name: value for name, value in queue.tags.items() if name != key}
    return {"tags": others if raw else {**others, key: ENVELOPE}}


def read_raw(value: str) -> bool:
    """Whether an attribute's value means raw delivery. Raises Fault."""
    if value.lower() not in {"true", "false"}:
        raise invalid_parameter(f"Attributes Reason: {RAW}: Invalid value [{value}]. Must be true or false.")
    return value.lower() == "true"


def invalid_parameter(what: str) -> Fault:
    """A parameter that SNS would not take."""
    return Fault("InvalidParameterException", f"Invalid parameter: {what}")
