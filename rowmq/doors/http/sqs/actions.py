"""Every operation: the right it needs, what it is about, how it is asked, and who performs it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rowmq.core.names import check_name
from rowmq.doors.http.sqs import (
    deleting,
    moving,
    permissions,
    queue_attributes,
    queues,
    receiving,
    sending,
    shapes,
    tagging,
    visibility,
)
from rowmq.doors.http.sqs.address import named_by_arn, queue_named_by
from rowmq.doors.http.sqs.asked import Result
from rowmq.doors.http.sqs.errors import invalid
from rowmq.doors.http.sqs.moves import source_of
from rowmq.doors.right import Right


def by_url(given: Any) -> str:
    """The queue of a QueueUrl."""
    return queue_named_by(given.queue_url)


def by_name(given: Any) -> str:
    """The queue of a QueueName."""
    name: str = given.queue_name
    return check_name(name) if name else ""


def by_arn(given: Any) -> str:
    """The queue of a SourceArn."""
    return named_by_arn(given.source_arn, "SourceArn")


def by_task(given: Any) -> str:
    """The queue of a move task."""
    arn = source_of(given.task_handle)
    if arn is None:
        raise invalid("Value for parameter TaskHandle is invalid.")
    return named_by_arn(arn, "TaskHandle")


def by_nothing(given: Any) -> str:  # noqa: ARG001 - it may say what it likes
    """No queue in particular: the operation looks itself at what its caller may see."""
    return ""


@dataclass(frozen=True, slots=True)
class Action:
    """An operation. Its right is needed on what it is about, unless that is nothing in particular."""

    right: Right
    about: Callable[[Any], str]
    takes: type[shapes.Shape]
    perform: Callable[..., Awaitable[Result]]


ACTIONS: Mapping[str, Action] = {
    "SendMessage": Action(Right.PUSH, by_url, shapes.SendMessage, sending.send_message),
    "SendMessageBatch": Action(Right.PUSH, by_url, shapes.SendMessageBatch, sending.send_message_batch),
    "ReceiveMessage": Action(Right.CLAIM, by_url, shapes.ReceiveMessage, receiving.receive_message),
    "DeleteMessage": Action(Right.CLAIM, by_url, shapes.DeleteMessage, deleting.delete_message),
    "DeleteMessageBatch": Action(
        Right.CLAIM, by_url, shapes.DeleteMessageBatch, deleting.delete_message_batch
    ),
    "ChangeMessageVisibility": Action(
        Right.CLAIM, by_url, shapes.ChangeMessageVisibility, visibility.change_message_visibility
    ),
    "ChangeMessageVisibilityBatch": Action(
        Right.CLAIM, by_url, shapes.ChangeMessageVisibilityBatch, visibility.change_message_visibility_batch
    ),
    "CreateQueue": Action(Right.MANAGE, by_name, shapes.CreateQueue, queues.create_queue),
    "GetQueueUrl": Action(Right.READ, by_name, shapes.GetQueueUrl, queues.get_queue_url),
    "ListQueues": Action(Right.READ, by_nothing, shapes.ListQueues, queues.list_queues),
    "DeleteQueue": Action(Right.MANAGE, by_url, shapes.OfQueue, queues.delete_queue),
    "PurgeQueue": Action(Right.MANAGE, by_url, shapes.OfQueue, queues.purge_queue),
    "GetQueueAttributes": Action(
        Right.READ, by_url, shapes.GetQueueAttributes, queue_attributes.get_queue_attributes
    ),
    "SetQueueAttributes": Action(
        Right.MANAGE, by_url, shapes.SetQueueAttributes, queue_attributes.set_queue_attributes
    ),
    "ListDeadLetterSourceQueues": Action(
        Right.READ, by_url, shapes.ListDeadLetterSourceQueues, queues.list_dead_letter_source_queues
    ),
    "TagQueue": Action(Right.MANAGE, by_url, shapes.TagQueue, tagging.tag_queue),
    "UntagQueue": Action(Right.MANAGE, by_url, shapes.UntagQueue, tagging.untag_queue),
    "ListQueueTags": Action(Right.READ, by_url, shapes.OfQueue, tagging.list_queue_tags),
    "AddPermission": Action(Right.MANAGE, by_url, shapes.AddPermission, permissions.add_permission),
    "RemovePermission": Action(Right.MANAGE, by_url, shapes.RemovePermission, permissions.remove_permission),
    "StartMessageMoveTask": Action(
        Right.MANAGE, by_arn, shapes.StartMessageMoveTask, moving.start_message_move_task
    ),
    "CancelMessageMoveTask": Action(
        Right.MANAGE, by_task, shapes.CancelMessageMoveTask, moving.cancel_message_move_task
    ),
    "ListMessageMoveTasks": Action(
        Right.READ, by_arn, shapes.ListMessageMoveTasks, moving.list_message_move_tasks
    ),
}
"""The whole of SQS. Nothing else decides who may do what here."""
