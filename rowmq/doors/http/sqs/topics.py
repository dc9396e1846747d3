"""CreateTopic, DeleteTopic, ListTopics, GetTopicAttributes.

A topic is a name that queues are bound to: it needs no creation, and one that was created without a
subscription is remembered by the server it was created through.
"""

import re
from functools import partial

from rowmq.doors.http.sqs.address import topic_arn
from rowmq.doors.http.sqs.asked import Asked, Result
from rowmq.doors.http.sqs.shapes import CreateTopic, ListTopics, OfTopic
from rowmq.doors.http.sqs.subscription import invalid_parameter
from rowmq.doors.http.sqs.topic_pages import page_of
from rowmq.doors.right import Right

NAME = re.compile(r"[A-Za-z0-9_-]{1,250}(\.fifo)?")
MOST = 10_000


async def create_topic(asked: Asked, given: CreateTopic) -> Result:
    """Where the topic of this name is."""
    if not NAME.fullmatch(given.name):
        raise invalid_parameter("Topic Name")
    if len(asked.shared.topics) < MOST:
        asked.shared.topics.add(given.name)
    return {"TopicArn": topic_arn(asked.settings, given.name)}


async def delete_topic(asked: Asked, given: OfTopic) -> Result:  # noqa: ARG001 - its name is known
    """Unbind every queue; one that does not exist is no error."""
    asked.shared.topics.discard(asked.name)
    pairs = await asked.call.run(lambda: asked.store.topics.bindings(asked.name))
    for topic, queue in pairs:
        await asked.call.run(partial(asked.store.topics.unbind, topic, queue))
    return {}


async def list_topics(asked: Asked, given: ListTopics) -> Result:
    """The topics that the caller may read."""
    pairs = await asked.call.run(asked.store.topics.bindings)
    names = sorted({topic for topic, _ in pairs} | asked.shared.topics)
    readable = [name for name in names if asked.call.principal.may(Right.READ, name)]
    page, following = page_of(readable, given.next_token)
    return {
        "Topics": [{"TopicArn": topic_arn(asked.settings, name)} for name in page],
        "NextToken": following,
    }


async def get_topic_attributes(asked: Asked, given: OfTopic) -> Result:
    """What there is to know of a topic."""
    pairs = await asked.call.run(lambda: asked.store.topics.bindings(asked.name))
    said = {
        "TopicArn": given.topic_arn,
        "Owner": asked.settings.account,
        "SubscriptionsConfirmed": str(len(pairs)),
        "SubscriptionsPending": "0",
        "SubscriptionsDeleted": "0",
        **({"FifoTopic": "true"} if asked.name.endswith(".fifo") else {}),
    }
    return {"Attributes": said}
