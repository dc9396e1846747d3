"""Topics: what is published goes to every queue that is bound."""

from itertools import groupby

from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.native.answering import done, json
from rowmq.doors.http.native.messages import PUSH_LIMIT
from rowmq.doors.http.route import Route
from rowmq.doors.right import Right
from rowmq.stores.remote import reading
from rowmq.stores.remote.role_shapes import Published, Publishing, TopicList, TopicShape
from rowmq.stores.remote.shapes import Done


async def list_topics(call: Call) -> Answer:
    """List the topics that you may read, with the queues bound to each."""
    pairs = await call.run(call.broker.store.topics.bindings)
    topics = [
        TopicShape(topic, [queue for _, queue in bound])
        for topic, bound in groupby(pairs, key=lambda pair: pair[0])
        if call.principal.may(Right.READ, topic)
    ]
    return json(TopicList(topics))


async def get_topic(call: Call) -> Answer:
    """List the queues bound to a topic; none, if nobody has heard of it."""
    topic = call.path["topic"]
    pairs = await call.run(lambda: call.broker.store.topics.bindings(topic))
    return json(TopicShape(topic, [queue for _, queue in pairs]))


async def publish(call: Call) -> Answer:
    """Push a copy of each message to every bound queue, all or none."""
    topic, said = call.path["topic"], reading.messages(call.body.messages)
    count = await call.run(lambda: call.broker.store.topics.publish(topic, said, now=call.now))
    return json(Published(count), 201)


async def bind(call: Call) -> Answer:
    """Bind a queue to a topic; who does it manages both."""
    topic, queue = _both(call)
    return done(changed=await call.run(lambda: call.broker.store.topics.bind(topic, queue, now=call.now)))


async def unbind(call: Call) -> Answer:
    """Unbind a queue, leaving its messages where they are."""
    topic, queue = _both(call)
    return done(changed=await call.run(lambda: call.broker.store.topics.unbind(topic, queue, now=call.now)))


def _both(call: Call) -> tuple[str, str]:
    topic, queue = call.path["topic"], call.path["queue"]
    call.demand(Right.MANAGE, topic, queue)
    return topic, queue


TOPIC = "/v1/topics/{topic}"
BINDING = "/v1/topics/{topic}/queues/{queue}"
ROUTES = (
    Route("GET", "/v1/topics", list_topics, Right.READ, late=True, gives=TopicList),
    Route("GET", TOPIC, get_topic, Right.READ, over="topic", gives=TopicShape),
    Route(
        "POST",
        f"{TOPIC}/messages",
        publish,
        Right.PUSH,
        over="topic",
        body=Publishing,
        gives=Published,
        status=201,
        refuses=(409, 422, 429),
        limit=PUSH_LIMIT,
    ),
    Route("PUT", BINDING, bind, Right.MANAGE, late=True, gives=Done, refuses=(404, 409, 422, 429)),
    Route("DELETE", BINDING, unbind, Right.MANAGE, late=True, gives=Done),
)
