"""What can be set for the door: how URLs look, and AWS's waits of a minute."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rowmq.doors.http.sqs import Settings
from rowmq.runtime.client import connect
from tests.doors.http.sqs.asking import refused
from tests.doors.http.sqs.serving import Clock, client_of, serving


@contextmanager
def asking(clock: Clock | None = None, **settings: Any) -> Iterator[Any]:
    """A client of a server of its own."""
    with connect("memory://") as mq, serving(mq, Settings(**settings)) as endpoint:
        sqs = client_of("sqs", endpoint)
        if clock is not None:
            sqs.meta.events.register("before-send.sqs", clock.say)
        yield sqs


def test_urls_and_arns_are_as_they_were_set() -> None:
    with asking(account="123456789012", region="eu-west-1", public_url="https://queues.example.com/") as sqs:
        url = sqs.create_queue(QueueName="q")["QueueUrl"]
        assert url == "https://queues.example.com/123456789012/q"
        shown = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
        assert shown == {"QueueArn": "arn:aws:sqs:eu-west-1:123456789012:q"}


def test_a_second_purge_within_a_minute_can_be_refused() -> None:
    clock = Clock()
    with asking(clock, purge_wait=True) as sqs:
        url = sqs.create_queue(QueueName="q")["QueueUrl"]
        sqs.purge_queue(QueueUrl=url)
        clock.move(58)
        words = "Only one PurgeQueue operation on q is allowed every 60 seconds."
        with refused("AWS.SimpleQueueService.PurgeQueueInProgress", words, status=403):
            sqs.purge_queue(QueueUrl=url)
        clock.move(3)
        assert sqs.purge_queue(QueueUrl=url)["ResponseMetadata"]["HTTPStatusCode"] == 200


def test_a_deleted_queues_name_can_be_kept_for_a_minute() -> None:
    with asking(delete_wait=True) as sqs:
        sqs.delete_queue(QueueUrl=sqs.create_queue(QueueName="q")["QueueUrl"])
        words = "You must wait 60 seconds after deleting a queue before you can create another"
        with refused("AWS.SimpleQueueService.QueueDeletedRecently", words):
            sqs.create_queue(QueueName="q")
        assert sqs.create_queue(QueueName="other")["QueueUrl"]
