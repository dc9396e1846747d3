"""Subscribe, Unsubscribe, and what can be seen and set of subscriptions: bind and unbind."""

from rowmq.doors.http.sqs.address import named_by_arn, topic_arn
from rowmq.doors.http.sqs.asked import Asked, Result
from rowmq.doors.http.sqs.errors import Fault
from rowmq.doors.http.sqs.shapes import (
    ListSubscriptionsByTopic,
    ListTopics,
    OfSubscription,
    SetSubscriptionAttributes,
    Subscribe,
)
from rowmq.doors.http.sqs.subscription import (
    PARAMETER,
    RAW,
    Subscription,
    find,
    invalid_parameter,
    is_raw,
    read_raw,
    subscriptions,
    with_rawness,
)
from rowmq.doors.http.sqs.topic_pages import page_of
from rowmq.doors.right import Right


async def subscribe(asked: Asked, given: Subscribe) -> Result:
    """Bind a queue to the topic. Whoever does needs to manage both."""
    if given.protocol != "sqs":
        raise invalid_parameter(f"Does not support this protocol string: {given.protocol}")
    said = given.attributes or {}
    for name in said.keys() - {RAW}:
        raise invalid_parameter(f"Attributes Reason: {name} is not supported here; only {RAW} is.")
    queue, raw = named_by_arn(given.endpoint, "Endpoint"), read_raw(said.get(RAW, "false"))
    asked.call.demand(Right.MANAGE, queue)
    await asked.shared.known.change(
        asked.call.broker, queue, lambda each: with_rawness(each, asked.name, raw=raw)
    )
    await asked.call.run(lambda: asked.store.topics.bind(asked.name, queue))
    return {PARAMETER: Subscription(asked.name, queue).arn(asked.settings)}


async def unsubscribe(asked: Asked, given: OfSubscription) -> Result:
    """Unbind a queue from a topic; one that is not bound is no error."""
    found = await find(asked, given.subscription_arn)
    if found is not None:
        await asked.call.run(lambda: asked.store.topics.unbind(found.topic, found.queue))
    return {}


async def list_subscriptions(asked: Asked, given: ListTopics) -> Result:
    """Every subscription that the caller may see."""
    return _page(asked, await subscriptions(asked), given.next_token)


async def list_subscriptions_by_topic(asked: Asked, given: ListSubscriptionsByTopic) -> Result:
    """The subscriptions of one topic."""
    return _page(asked, await subscriptions(asked, asked.name), given.next_token)


async def get_subscription_attributes(asked: Asked, given: OfSubscription) -> Result:
    """What there is to know of a subscription."""
    found = await _found(asked, given.subscription_arn)
    queue = await asked.shared.known.look(asked.call.broker, found.queue)
    said = {
        **found.shown(asked.settings, asked.arn(found.queue)),
        "TopicArn": topic_arn(asked.settings, found.topic),
        RAW: "true" if is_raw(queue, found.topic) else "false",
        "PendingConfirmation": "false",
        "ConfirmationWasAuthenticated": "true",
    }
    return {"Attributes": said}


async def set_subscription_attributes(asked: Asked, given: SetSubscriptionAttributes) -> Result:
    """Let a subscription be raw or not."""
    found = await _found(asked, given.subscription_arn)
    if given.attribute_name != RAW:
        raise invalid_parameter(
            f"AttributeName Reason: {given.attribute_name} is not supported here; {RAW} is."
        )
    raw = read_raw(given.attribute_value)
    await asked.shared.known.change(
        asked.call.broker, found.queue, lambda each: with_rawness(each, found.topic, raw=raw)
    )
    return {}


async def _found(asked: Asked, arn: str) -> Subscription:
    found = await find(asked, arn)
    if found is None:
        raise Fault("NotFoundException", "Subscription does not exist")
    return found


def _page(asked: Asked, found: list[Subscription], token: str | None) -> Result:
    page, following = page_of(found, token)
    shown = [each.shown(asked.settings, asked.arn(each.queue)) for each in page]
    return {"Subscriptions": shown, "NextToken": following}
