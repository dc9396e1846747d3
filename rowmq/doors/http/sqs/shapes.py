"""What each operation is asked with, in AWS's names."""

from typing import Any

import msgspec


class Shape(msgspec.Struct, rename="pascal", frozen=True, kw_only=True):
    """The parameters of an operation; those without a default must be there."""


class OfQueue(Shape, frozen=True, kw_only=True):
    """Anything about one queue."""

    queue_url: str


class Value(Shape, frozen=True, kw_only=True):
    """A message attribute's or system attribute's value."""

    data_type: str | None = None
    string_value: str | None = None
    binary_value: str | None = None
    string_list_values: list[Any] | None = None
    binary_list_values: list[Any] | None = None


class Sent(Shape, frozen=True, kw_only=True):
    """What SendMessage and an entry of its batch have in common."""

    message_body: str
    delay_seconds: int | None = None
    message_attributes: dict[str, Value] | None = None
    message_system_attributes: dict[str, Value] | None = None
    message_deduplication_id: str | None = None
    message_group_id: str | None = None


class SendMessage(Sent, frozen=True, kw_only=True):
    """SendMessage."""

    queue_url: str


class SendEntry(Sent, frozen=True, kw_only=True):
    """An entry of SendMessageBatch."""

    id: str


class SendMessageBatch(OfQueue, frozen=True, kw_only=True):
    """SendMessageBatch."""

    entries: list[SendEntry] = []


class ReceiveMessage(OfQueue, frozen=True, kw_only=True):
    """ReceiveMessage."""

    attribute_names: list[str] | None = None
    message_system_attribute_names: list[str] | None = None
    message_attribute_names: list[str] | None = None
    max_number_of_messages: int | None = None
    visibility_timeout: int | None = None
    wait_time_seconds: int | None = None
    receive_request_attempt_id: str | None = None


class DeleteMessage(OfQueue, frozen=True, kw_only=True):
    """DeleteMessage."""

    receipt_handle: str


class DeleteEntry(Shape, frozen=True, kw_only=True):
    """An entry of DeleteMessageBatch."""

    id: str
    receipt_handle: str


class DeleteMessageBatch(OfQueue, frozen=True, kw_only=True):
    """DeleteMessageBatch."""

    entries: list[DeleteEntry] = []


class ChangeMessageVisibility(OfQueue, frozen=True, kw_only=True):
    """ChangeMessageVisibility."""

    receipt_handle: str
    visibility_timeout: int


class VisibilityEntry(Shape, frozen=True, kw_only=True):
    """An entry of ChangeMessageVisibilityBatch."""

    id: str
    receipt_handle: str
    visibility_timeout: int | None = None


class ChangeMessageVisibilityBatch(OfQueue, frozen=True, kw_only=True):
    """ChangeMessageVisibilityBatch."""

    entries: list[VisibilityEntry] = []


class CreateQueue(Shape, frozen=True, kw_only=True):
    """CreateQueue."""

    queue_name: str
    attributes: dict[str, str] | None = None
    tags: dict[str, str] | None = msgspec.field(name="tags", default=None)


class GetQueueUrl(Shape, frozen=True, kw_only=True):
    """GetQueueUrl."""

    queue_name: str
    owner: str | None = msgspec.field(name="QueueOwnerAWSAccountId", default=None)


class Paged(Shape, frozen=True, kw_only=True):
    """Lists that come in pages."""

    next_token: str | None = None
    max_results: int | None = None


class ListQueues(Paged, frozen=True, kw_only=True):
    """ListQueues."""

    queue_name_prefix: str | None = None


class ListDeadLetterSourceQueues(Paged, frozen=True, kw_only=True):
    """ListDeadLetterSourceQueues."""

    queue_url: str


class GetQueueAttributes(OfQueue, frozen=True, kw_only=True):
    """GetQueueAttributes."""

    attribute_names: list[str] | None = None


class SetQueueAttributes(OfQueue, frozen=True, kw_only=True):
    """SetQueueAttributes."""

    attributes: dict[str, str]


class TagQueue(OfQueue, frozen=True, kw_only=True):
    """TagQueue."""

    tags: dict[str, str]


class UntagQueue(OfQueue, frozen=True, kw_only=True):
    """UntagQueue."""

    tag_keys: list[str]


class AddPermission(OfQueue, frozen=True, kw_only=True):
    """AddPermission."""

    label: str
    accounts: list[str] = msgspec.field(name="AWSAccountIds")
    actions: list[str]


class RemovePermission(OfQueue, frozen=True, kw_only=True):
    """RemovePermission."""

    label: str


class StartMessageMoveTask(Shape, frozen=True, kw_only=True):
    """StartMessageMoveTask."""

    source_arn: str
    destination_arn: str | None = None
    max_number_of_messages_per_second: int | None = None


class CancelMessageMoveTask(Shape, frozen=True, kw_only=True):
    """CancelMessageMoveTask."""

    task_handle: str


class ListMessageMoveTasks(Shape, frozen=True, kw_only=True):
    """ListMessageMoveTasks."""

    source_arn: str
    max_results: int | None = None


class CreateTopic(Shape, frozen=True, kw_only=True):
    """CreateTopic."""

    name: str
    attributes: dict[str, str] | None = None


class OfTopic(Shape, frozen=True, kw_only=True):
    """Anything about one topic."""

    topic_arn: str


class ListTopics(Shape, frozen=True, kw_only=True):
    """ListTopics and ListSubscriptions."""

    next_token: str | None = None


class ListSubscriptionsByTopic(OfTopic, frozen=True, kw_only=True):
    """ListSubscriptionsByTopic."""

    next_token: str | None = None


class Subscribe(OfTopic, frozen=True, kw_only=True):
    """Subscribe."""

    protocol: str
    endpoint: str = ""
    attributes: dict[str, str] | None = None


class OfSubscription(Shape, frozen=True, kw_only=True):
    """Anything about one subscription."""

    subscription_arn: str


class SetSubscriptionAttributes(OfSubscription, frozen=True, kw_only=True):
    """SetSubscriptionAttributes."""

    attribute_name: str
    attribute_value: str = ""


class Published(Shape, frozen=True, kw_only=True):
    """What Publish and an entry of its batch have in common."""

    message: str
    subject: str | None = None
    message_structure: str | None = None
    message_attributes: dict[str, Value] | None = None
    message_deduplication_id: str | None = None
    message_group_id: str | None = None


class Publish(Published, frozen=True, kw_only=True):
    """Publish."""

    topic_arn: str | None = None
    target_arn: str | None = None


class PublishEntry(Published, frozen=True, kw_only=True):
    """An entry of PublishBatch."""

    id: str


class PublishBatch(OfTopic, frozen=True, kw_only=True):
    """PublishBatch."""

    entries: list[PublishEntry] = msgspec.field(name="PublishBatchRequestEntries", default_factory=list)
