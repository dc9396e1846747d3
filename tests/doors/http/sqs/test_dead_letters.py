"""Dead letters: where they go, after how many receives, and how they come back."""

import json
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from rowmq.core.queue import Queue
from rowmq.doors.http.sqs.moves import Move, advanced, handle_of, moves_of, with_moves
from rowmq.runtime.client import Client
from tests.doors.http.sqs.asking import arn_of, bodies, one, refused
from tests.doors.http.sqs.conftest import NewQueue
from tests.doors.http.sqs.serving import client_of, serving

PATIENCE = 20.0


def policy(arn: str, receives: object = 1) -> str:
    return json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": receives})


def pair(sqs: Any, new_queue: NewQueue, receives: object = 1, **options: Any) -> tuple[str, str]:
    """A queue and its dead-letter queue."""
    dead = new_queue(**options)
    return new_queue(RedrivePolicy=policy(arn_of(sqs, dead), receives), **options), dead


def bury(sqs: Any, source: str, *texts: str) -> None:
    """Send messages and let their receives be exhausted."""
    for text in texts:
        sqs.send_message(QueueUrl=source, MessageBody=text)
    for _ in texts:
        sqs.receive_message(QueueUrl=source, VisibilityTimeout=0)
    assert bodies(sqs.receive_message(QueueUrl=source, MaxNumberOfMessages=10)) == []


def finished(sqs: Any, arn: str) -> dict[str, Any]:
    """The latest task, once it has ended."""
    end = time.monotonic() + PATIENCE
    while True:
        task: dict[str, Any] = sqs.list_message_move_tasks(SourceArn=arn)["Results"][0]
        if task["Status"] not in {"RUNNING", "CANCELLING"}:
            return task
        assert time.monotonic() < end, task
        time.sleep(0.02)


def latest(mq: Client, name: str) -> Move:
    """A queue's latest task, as the store has it."""
    queue = mq.store.queues.get(name)
    assert queue is not None
    return moves_of(queue)[0]


def eventually(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_the_receive_that_would_be_one_too_many_moves_the_message(sqs: Any, new_queue: NewQueue) -> None:
    source, dead = pair(sqs, new_queue, 2)
    sent = sqs.send_message(QueueUrl=source, MessageBody="x")
    for expected in ("1", "2"):
        found = one(
            sqs.receive_message(
                QueueUrl=source, VisibilityTimeout=0, AttributeNames=["ApproximateReceiveCount"]
            )
        )
        assert found["Attributes"]["ApproximateReceiveCount"] == expected
    assert bodies(sqs.receive_message(QueueUrl=dead)) == []
    assert bodies(sqs.receive_message(QueueUrl=source)) == []
    letter = one(sqs.receive_message(QueueUrl=dead, AttributeNames=["All"]))
    assert letter["MessageId"] == sent["MessageId"]
    assert letter["Attributes"]["ApproximateReceiveCount"] == "3"
    assert letter["Attributes"]["DeadLetterQueueSourceArn"] == arn_of(sqs, source)


def test_a_message_returned_after_its_last_receive_goes_with_the_next_one(
    sqs: Any, new_queue: NewQueue
) -> None:
    source, dead = pair(sqs, new_queue)
    sqs.send_message(QueueUrl=source, MessageBody="x")
    handle = one(sqs.receive_message(QueueUrl=source))["ReceiptHandle"]
    sqs.change_message_visibility(QueueUrl=source, ReceiptHandle=handle, VisibilityTimeout=0)
    counts = sqs.get_queue_attributes(QueueUrl=source, AttributeNames=["ApproximateNumberOfMessages"])
    assert counts["Attributes"]["ApproximateNumberOfMessages"] == "1"
    assert bodies(sqs.receive_message(QueueUrl=source)) == []
    assert bodies(sqs.receive_message(QueueUrl=dead)) == ["x"]


def test_without_a_policy_a_message_comes_again_and_again(sqs: Any, queue: str) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody="x")
    for _ in range(12):
        assert bodies(sqs.receive_message(QueueUrl=queue, VisibilityTimeout=0)) == ["x"]


def test_groups_keep_their_order_in_a_dead_letter_queue(sqs: Any, new_queue: NewQueue) -> None:
    source, dead = pair(sqs, new_queue, fifo=True, ContentBasedDeduplication="true")
    for body in "ab":
        sqs.send_message(QueueUrl=source, MessageBody=body, MessageGroupId="g")
    sqs.receive_message(QueueUrl=source, MaxNumberOfMessages=10, VisibilityTimeout=0)
    assert bodies(sqs.receive_message(QueueUrl=source, MaxNumberOfMessages=10)) == []
    assert bodies(sqs.receive_message(QueueUrl=dead, MaxNumberOfMessages=10)) == ["a", "b"]


@pytest.mark.parametrize("receives", [3, "3"])
def test_a_policy_is_shown_as_it_holds_and_an_empty_one_removes_it(
    sqs: Any, new_queue: NewQueue, receives: object
) -> None:
    source, dead = pair(sqs, new_queue, receives)
    asked = {"QueueUrl": source, "AttributeNames": ["RedrivePolicy"]}
    shown = json.loads(sqs.get_queue_attributes(**asked)["Attributes"]["RedrivePolicy"])
    assert shown == {"deadLetterTargetArn": arn_of(sqs, dead), "maxReceiveCount": 3}
    sqs.set_queue_attributes(QueueUrl=source, Attributes={"RedrivePolicy": ""})
    assert "Attributes" not in sqs.get_queue_attributes(**asked)
    sqs.send_message(QueueUrl=source, MessageBody="x")
    for _ in range(5):
        assert bodies(sqs.receive_message(QueueUrl=source, VisibilityTimeout=0)) == ["x"]


def test_policies_that_cannot_hold_are_refused(sqs: Any, queue: str, fifo: str) -> None:
    def set_policy(text: str) -> None:
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"RedrivePolicy": text})

    arn = arn_of(sqs, queue)
    with refused("InvalidParameterValue", "Dead letter target does not exist."):
        set_policy(policy(arn + "-not"))
    with refused("InvalidParameterValue", "must be same type of queue as the source"):
        set_policy(policy(arn_of(sqs, fifo)))
    with refused("InvalidParameterValue", "valid values are from 1 to 1000"):
        set_policy(policy(arn, 1001))
    with refused("InvalidParameterValue", "must contain deadLetterTargetArn and maxReceiveCount"):
        set_policy("{}")
    with refused("InvalidAttributeValue", "Invalid value for the parameter RedrivePolicy."):
        set_policy("not json")
    with refused("InvalidParameterValue"):
        set_policy(policy(arn))  # to itself
    with refused("InvalidParameterValue", "it is no ARN of sqs"):
        set_policy(policy("arn:aws:s3:::bucket"))


def test_a_dead_letter_queue_may_say_whose_letters_it_takes(sqs: Any, new_queue: NewQueue) -> None:
    dead, source = new_queue(), new_queue()

    def allow(**said: object) -> None:
        sqs.set_queue_attributes(QueueUrl=dead, Attributes={"RedriveAllowPolicy": json.dumps(said)})

    def use() -> None:
        sqs.set_queue_attributes(QueueUrl=source, Attributes={"RedrivePolicy": policy(arn_of(sqs, dead))})

    allow(redrivePermission="denyAll")
    with refused("InvalidParameterValue", "RedriveAllowPolicy"):
        use()
    allow(redrivePermission="byQueue", sourceQueueArns=[arn_of(sqs, source)])
    use()
    with refused("InvalidAttributeValue"):
        allow(redrivePermission="byQueue", sourceQueueArns=[arn_of(sqs, source)] * 11)
    with refused("InvalidAttributeValue"):
        allow(redrivePermission="sometimes")


def test_the_queues_of_a_dead_letter_queue_are_listed_in_pages(sqs: Any, new_queue: NewQueue) -> None:
    dead = new_queue()
    assert sqs.list_dead_letter_source_queues(QueueUrl=dead)["queueUrls"] == []
    sources = sorted(new_queue(RedrivePolicy=policy(arn_of(sqs, dead))) for _ in range(3))
    assert sqs.list_dead_letter_source_queues(QueueUrl=dead)["queueUrls"] == sources
    first = sqs.list_dead_letter_source_queues(QueueUrl=dead, MaxResults=2)
    second = sqs.list_dead_letter_source_queues(QueueUrl=dead, MaxResults=2, NextToken=first["NextToken"])
    assert first["queueUrls"] + second["queueUrls"] == sources
    assert "NextToken" not in second


def test_a_dead_letter_queue_can_be_deleted_before_its_sources(sqs: Any, new_queue: NewQueue) -> None:
    source, dead = pair(sqs, new_queue)
    sqs.delete_queue(QueueUrl=dead)
    sqs.send_message(QueueUrl=source, MessageBody="x")
    for _ in range(3):
        assert bodies(sqs.receive_message(QueueUrl=source, VisibilityTimeout=0)) == ["x"]


def test_letters_move_back_to_where_they_came_from_and_count_from_the_beginning(
    sqs: Any, new_queue: NewQueue
) -> None:
    source, dead = pair(sqs, new_queue)
    bury(sqs, source, "a", "b", "c")
    arn = arn_of(sqs, dead)
    assert sqs.start_message_move_task(SourceArn=arn)["TaskHandle"]
    task = finished(sqs, arn)
    assert (task["Status"], task["SourceArn"]) == ("COMPLETED", arn)
    assert task["ApproximateNumberOfMessagesMoved"] == task["ApproximateNumberOfMessagesToMove"] == 3
    assert abs(task["StartedTimestamp"] / 1000 - time.time()) < 60
    assert "TaskHandle" not in task
    back = sqs.receive_message(QueueUrl=source, MaxNumberOfMessages=10, AttributeNames=["All"])["Messages"]
    assert sorted(message["Body"] for message in back) == ["a", "b", "c"]
    assert {message["Attributes"]["ApproximateReceiveCount"] for message in back} == {"1"}
    assert all("DeadLetterQueueSourceArn" not in message["Attributes"] for message in back)


def test_messages_move_to_a_destination_wherever_they_came_from(sqs: Any, new_queue: NewQueue) -> None:
    source, dead = pair(sqs, new_queue)
    elsewhere = new_queue()
    bury(sqs, source, "a")
    sqs.send_message(QueueUrl=dead, MessageBody="sent here")
    arn, destination = arn_of(sqs, dead), arn_of(sqs, elsewhere)
    sqs.start_message_move_task(SourceArn=arn, DestinationArn=destination)
    task = finished(sqs, arn)
    assert (task["Status"], task["DestinationArn"]) == ("COMPLETED", destination)
    assert sorted(bodies(sqs.receive_message(QueueUrl=elsewhere, MaxNumberOfMessages=10))) == [
        "a",
        "sent here",
    ]


def test_a_message_that_came_from_nowhere_fails_the_task(sqs: Any, new_queue: NewQueue) -> None:
    _, dead = pair(sqs, new_queue)
    sqs.send_message(QueueUrl=dead, MessageBody="sent here")
    arn = arn_of(sqs, dead)
    sqs.start_message_move_task(SourceArn=arn)
    task = finished(sqs, arn)
    assert (task["Status"], task["FailureReason"]) == ("FAILED", "CouldNotDetermineMessageSource")
    assert bodies(sqs.receive_message(QueueUrl=dead)) == ["sent here"]


def test_a_slow_task_can_be_seen_and_cancelled_and_there_is_one_at_a_time(
    sqs: Any, new_queue: NewQueue
) -> None:
    source, dead = pair(sqs, new_queue)
    bury(sqs, source, *"abcdef")
    arn = arn_of(sqs, dead)
    handle = sqs.start_message_move_task(SourceArn=arn, MaxNumberOfMessagesPerSecond=1)["TaskHandle"]
    (task,) = sqs.list_message_move_tasks(SourceArn=arn, MaxResults=10)["Results"]
    assert (task["Status"], task["TaskHandle"], task["MaxNumberOfMessagesPerSecond"]) == (
        "RUNNING",
        handle,
        1,
    )
    with refused("InvalidParameterValue", "There is already a task running."):
        sqs.start_message_move_task(SourceArn=arn)
    assert sqs.cancel_message_move_task(TaskHandle=handle)["ApproximateNumberOfMessagesMoved"] <= 2
    task = finished(sqs, arn)
    assert task["Status"] == "CANCELLED"
    assert task["ApproximateNumberOfMessagesMoved"] <= 3
    with refused("InvalidParameterValue", "Only active tasks can be cancelled."):
        sqs.cancel_message_move_task(TaskHandle=handle)
    sqs.start_message_move_task(SourceArn=arn)
    assert finished(sqs, arn)["Status"] == "COMPLETED"
    assert len(sqs.list_message_move_tasks(SourceArn=arn, MaxResults=10)["Results"]) == 2
    assert len(bodies(sqs.receive_message(QueueUrl=source, MaxNumberOfMessages=10))) == 6


def test_a_task_is_no_faster_than_it_was_told(sqs: Any, new_queue: NewQueue) -> None:
    source, dead = pair(sqs, new_queue)
    bury(sqs, source, *"abcd")
    arn, started = arn_of(sqs, dead), time.monotonic()
    sqs.start_message_move_task(SourceArn=arn, MaxNumberOfMessagesPerSecond=4)
    assert finished(sqs, arn)["ApproximateNumberOfMessagesMoved"] == 4
    assert time.monotonic() - started >= 0.75


def test_a_step_under_way_does_not_undo_a_cancel() -> None:
    queue = Queue(name="q", **with_moves(Queue(name="q"), [Move(handle="h", status="CANCELLING", moved=1)]))
    changed = Queue(name="q", **dict(advanced(queue, "h", 2, "RUNNING", None)))
    assert [(move.status, move.moved) for move in moves_of(changed)] == [("CANCELLING", 3)]
    ended = Queue(name="q", **dict(advanced(queue, "h", 0, "CANCELLED", None)))
    assert [move.status for move in moves_of(ended)] == ["CANCELLED"]


def test_a_task_goes_on_after_a_restart_of_the_server(mq: Client, sqs: Any, new_queue: NewQueue) -> None:
    source, dead = pair(sqs, new_queue)
    bury(sqs, source, "a", "b")
    with serving(mq) as endpoint:
        name = dead.rpartition("/")[2]
        queue = mq.store.queues.get(name)
        assert queue is not None
        mq.store.queues.put(name, with_moves(queue, [Move(handle="left by a server that died", total=2)]))
        other = client_of("sqs", endpoint)
        other.list_queues()  # whatever is asked for first
        assert eventually(lambda: latest(mq, name).status == "COMPLETED")
        assert latest(mq, name).moved == 2
    assert sorted(bodies(sqs.receive_message(QueueUrl=source, MaxNumberOfMessages=10))) == ["a", "b"]


def test_tasks_that_cannot_be_are_refused(sqs: Any, queue: str, new_queue: NewQueue) -> None:
    arn = arn_of(sqs, queue)
    with refused("InvalidParameterValue", "Source queue must be configured as a Dead Letter Queue."):
        sqs.start_message_move_task(SourceArn=arn)
    with refused("ResourceNotFoundException", "SourceArn parameter doesn't exist.", status=404):
        sqs.start_message_move_task(SourceArn=arn + "-not")
    with refused("ResourceNotFoundException", "SourceArn parameter doesn't exist.", status=404):
        sqs.list_message_move_tasks(SourceArn=arn + "-not")
    _, dead = pair(sqs, new_queue)
    with refused("ResourceNotFoundException", "DestinationArn parameter doesn't exist.", status=404):
        sqs.start_message_move_task(SourceArn=arn_of(sqs, dead), DestinationArn=arn + "-not")
    with refused("InvalidParameterValue", "cannot be the same"):
        sqs.start_message_move_task(SourceArn=arn_of(sqs, dead), DestinationArn=arn_of(sqs, dead))
    with refused("InvalidParameterValue", "Must be between 1 and 500"):
        sqs.start_message_move_task(SourceArn=arn, MaxNumberOfMessagesPerSecond=501)
    with refused("InvalidParameterValue", "TaskHandle is invalid."):
        sqs.cancel_message_move_task(TaskHandle="garbage")
    with refused("ResourceNotFoundException", "Task does not exist.", status=404):
        sqs.cancel_message_move_task(TaskHandle=handle_of(uuid4(), arn))
    assert sqs.list_message_move_tasks(SourceArn=arn)["Results"] == []
