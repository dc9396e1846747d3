"""Who may ask what: written by hand, route by route, and never read from the routes themselves."""

from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["open", "known", "list", "everywhere", "push", "claim", "read", "manage"]


@dataclass(frozen=True, slots=True)
class Need:
    """What a route asks for, and how to ask it about one queue.

    ``kind`` is a right on that queue; ``everywhere`` a right on all of them; ``list`` shows each caller what
    he may read; ``known`` is for everybody with a token and ``open`` for everybody. In path, query and body,
    NAME is the queue's (also the topic's and the schedule's), ID a message's, RECEIPT that of a held one,
    CLAIM a named claim, TASK that of a move task, SUBSCRIPTION the topic's. What a caller may not see is
    ``hidden`` by a 404 in place of a 403. ``fresh`` asks where nothing is there yet. ``also`` is an answer
    that is fine because what was asked for is allowed, and cannot be.
    """

    kind: Kind
    query: dict[str, str] = field(default_factory=dict)
    body: Any = None
    names: dict[str, str] = field(default_factory=dict)
    hidden: bool = False
    fresh: bool = False
    also: int | None = None


ID, NAME, RECEIPT, CLAIM, TASK, SUBSCRIPTION = "@ID", "@NAME", "@RECEIPT", "@CLAIM", "@TASK", "@SUBSCRIPTION"
QUEUE_ARN, TOPIC_ARN = "arn:aws:sqs:us-east-1:000000000000:@NAME", "arn:aws:sns:us-east-1:000000000000:@NAME"
MESSAGE = {"payload": 1}
SCHEDULE = {"queue": NAME, "every": 60, "message": MESSAGE}
STORED = {"name": NAME, "queue": NAME, "spec": "{}", "message": MESSAGE, "next_at": "2099-01-01T00:00:00Z"}
TICK = {"tick": "2026-05-01T00:00:00Z", "following": "2026-05-01T00:01:00Z"}
HQ_QUEUE = {"max_attempts": "3", "visibility_timeout_seconds": "3600"}

HQ = {
    "POST /queues": Need("manage", {"name": NAME, **HQ_QUEUE}, fresh=True),
    "GET /queues": Need("list"),
    "GET /queues/{name}": Need("read"),
    "PUT /queues/{name}": Need("manage", HQ_QUEUE),
    "DELETE /queues/{name}": Need("manage"),
    "POST /queues/{name}/enqueue": Need("push", body=1),
    "GET /queues/{name}/receive": Need("claim"),
    "PUT /messages/{id}/complete": Need("claim"),
    "PUT /messages/{id}/fail": Need("claim", {"receipt": RECEIPT}),
}

NATIVE = {
    "GET /v1/queues": Need("list"),
    "PUT /v1/queues/{queue}": Need("manage", body={"lease": 3600}),
    "GET /v1/queues/{queue}": Need("read"),
    "DELETE /v1/queues/{queue}": Need("manage"),
    "GET /v1/queues/{queue}/stats": Need("read"),
    "POST /v1/queues/{queue}/purge": Need("manage", body={}),
    "POST /v1/queues/{queue}/pause": Need("manage"),
    "POST /v1/queues/{queue}/resume": Need("manage"),
    "POST /v1/queues/{queue}/redrive": Need("manage", body={}),
    "POST /v1/queues/{queue}/messages": Need("push", body=MESSAGE),
    "POST /v1/queues/{queue}/import": Need("push", body=MESSAGE),
    "POST /v1/push": Need("push", body={"batches": [{"queue": NAME, "messages": [MESSAGE]}]}),
    "POST /v1/queues/{queue}/claim": Need("claim", body={}),
    "POST /v1/queues/{queue}/claims": Need("claim", body={"wants": [{}]}),
    "POST /v1/extend": Need("claim", body={"receipts": [RECEIPT], "lease": 3600}),
    "POST /v1/settle": Need("claim", body={"settlements": [{"outcome": "ack", "receipt": RECEIPT}]}),
    "POST /v1/adopt": Need("everywhere", body={"name": CLAIM}),
    "POST /v1/wait": Need("claim", body={"queue": [NAME], "timeout": 0}),
    "GET /v1/wait": Need("claim", {"queue": NAME, "timeout": "0"}),
    "GET /v1/topics": Need("list"),
    "GET /v1/topics/{topic}": Need("read"),
    "POST /v1/topics/{topic}/messages": Need("push", body={"messages": [MESSAGE]}),
    "PUT /v1/topics/{topic}/queues/{queue}": Need("manage"),
    "DELETE /v1/topics/{topic}/queues/{queue}": Need("manage"),
    "PUT /v1/queues/{queue}/consumers/{consumer}": Need("claim", body={"ttl": 60}, names={"consumer": "ada"}),
    "DELETE /v1/queues/{queue}/consumers/{consumer}": Need("claim", names={"consumer": "ada"}),
    "GET /v1/consumers": Need("read", {"queue": NAME}),
    "POST /v1/lead": Need("everywhere", body={"role": "sweeper", "consumer": "ada", "ttl": 60}),
    "GET /v1/schedules": Need("list"),
    "POST /v1/schedules": Need("manage", body=STORED),
    "GET /v1/schedules/{schedule}": Need("read"),
    "PUT /v1/schedules/{schedule}": Need("manage", body=SCHEDULE),
    "DELETE /v1/schedules/{schedule}": Need("manage"),
    "POST /v1/schedules/{schedule}/pause": Need("manage"),
    "POST /v1/schedules/{schedule}/resume": Need("manage"),
    "POST /v1/schedules/{schedule}/fire": Need("push", body=TICK),
    "GET /v1/messages": Need("read", {"queue": NAME}),
    "GET /v1/messages/{id}": Need("read", hidden=True),
    "GET /v1/messages/{id}/failures": Need("read", hidden=True),
    "GET /v1/messages/{id}/receipt": Need("claim", hidden=True),
    "POST /v1/find": Need("read", body={"queue": NAME}),
    "GET /v1/queues/{queue}/export": Need("read"),
    "GET /v1/scan": Need("read", {"queue": NAME}),
    "GET /v1/bounds": Need("everywhere"),
    "POST /v1/amend": Need("manage", body={"ids": [ID], "amendment": "kill"}),
    "POST /v1/archive": Need("everywhere", body={"seqs": []}),
    "GET /v1/ledger": Need("read", {"queue": NAME}),
    "POST /v1/sweep": Need("everywhere", body={}),
    "GET /v1/store": Need("known"),
}

OPERATIONS = {
    "GET /healthz": Need("open"),
    "GET /readyz": Need("open"),
    "GET /metrics": Need("everywhere"),
    "GET /openapi.json": Need("open"),
    "GET /docs": Need("open"),
    "GET /docs/style.css": Need("open"),
}

HELD = {"QueueUrl": NAME, "ReceiptHandle": RECEIPT}
ENTRY = {"Id": "1", "ReceiptHandle": RECEIPT}
SQS = {
    "SendMessage": Need("push", body={"QueueUrl": NAME, "MessageBody": "1"}),
    "SendMessageBatch": Need("push", body={"QueueUrl": NAME, "Entries": [{"Id": "1", "MessageBody": "1"}]}),
    "ReceiveMessage": Need("claim", body={"QueueUrl": NAME}),
    "DeleteMessage": Need("claim", body=HELD),
    "DeleteMessageBatch": Need("claim", body={"QueueUrl": NAME, "Entries": [ENTRY]}),
    "ChangeMessageVisibility": Need("claim", body={**HELD, "VisibilityTimeout": 3600}, also=400),
    "ChangeMessageVisibilityBatch": Need(
        "claim", body={"QueueUrl": NAME, "Entries": [{**ENTRY, "VisibilityTimeout": 3600}]}
    ),
    "CreateQueue": Need("manage", body={"QueueName": NAME}, fresh=True),
    "GetQueueUrl": Need("read", body={"QueueName": NAME}),
    "ListQueues": Need("list", body={}),
    "DeleteQueue": Need("manage", body={"QueueUrl": NAME}),
    "PurgeQueue": Need("manage", body={"QueueUrl": NAME}),
    "GetQueueAttributes": Need("read", body={"QueueUrl": NAME, "AttributeNames": ["All"]}),
    "SetQueueAttributes": Need("manage", body={"QueueUrl": NAME, "Attributes": {"DelaySeconds": "1"}}),
    "ListDeadLetterSourceQueues": Need("read", body={"QueueUrl": NAME}),
    "TagQueue": Need("manage", body={"QueueUrl": NAME, "Tags": {"a": "b"}}),
    "UntagQueue": Need("manage", body={"QueueUrl": NAME, "TagKeys": ["a"]}),
    "ListQueueTags": Need("read", body={"QueueUrl": NAME}),
    "AddPermission": Need(
        "manage",
        body={"QueueUrl": NAME, "Label": "a", "AWSAccountIds": ["000000000000"], "Actions": ["SendMessage"]},
        also=400,
    ),
    "RemovePermission": Need("manage", body={"QueueUrl": NAME, "Label": "a"}, also=400),
    "StartMessageMoveTask": Need("manage", body={"SourceArn": QUEUE_ARN}, also=400),
    "CancelMessageMoveTask": Need("manage", body={"TaskHandle": TASK}, also=404),
    "ListMessageMoveTasks": Need("read", body={"SourceArn": QUEUE_ARN}),
}

PUBLISHED = "PublishBatchRequestEntries.member.1"
SNS = {
    "CreateTopic": Need("manage", {"Name": NAME}),
    "DeleteTopic": Need("manage", {"TopicArn": TOPIC_ARN}),
    "ListTopics": Need("list"),
    "GetTopicAttributes": Need("read", {"TopicArn": TOPIC_ARN}),
    "Publish": Need("push", {"TopicArn": TOPIC_ARN, "Message": "1"}),
    "PublishBatch": Need(
        "push", {"TopicArn": TOPIC_ARN, f"{PUBLISHED}.Id": "1", f"{PUBLISHED}.Message": "1"}
    ),
    "Subscribe": Need("manage", {"TopicArn": TOPIC_ARN, "Protocol": "sqs", "Endpoint": QUEUE_ARN}),
    "Unsubscribe": Need("manage", {"SubscriptionArn": SUBSCRIPTION}),
    "ListSubscriptions": Need("list"),
    "ListSubscriptionsByTopic": Need("read", {"TopicArn": TOPIC_ARN}),
    "GetSubscriptionAttributes": Need("read", {"SubscriptionArn": SUBSCRIPTION}),
    "SetSubscriptionAttributes": Need(
        "manage",
        {
            "SubscriptionArn": SUBSCRIPTION,
            "AttributeName": "RawMessageDelivery",
            "AttributeValue": "true",
        },
    ),
}

AWS_PATHS = frozenset(
    f"{method} {path}"
    for method in ("POST", "GET")
    for path in ("/", "/{account}/{queue}", "/queue/{queue}", "/queue/{region}/{account}/{queue}")
)
"""Routes on which the operation decides."""

NEEDS = {
    **HQ,
    **NATIVE,
    **OPERATIONS,
    **{f"SQS {action}": need for action, need in SQS.items()},
    **{f"SNS {action}": need for action, need in SNS.items()},
}
