"""Who may do what: by the right that each operation needs on the queue it is about."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rowmq.doors.http.access import Open
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.request import Request
from rowmq.doors.http.sqs.actions import ACTIONS
from rowmq.doors.right import Principal, Right
from rowmq.runtime.client import connect
from tests.doors.http.sqs.asking import bodies, one, refused
from tests.doors.http.sqs.serving import client_of, serving

EVERYBODY = {
    "owner": Principal("owner", dict.fromkeys(Right, ("*",))),
    "sender": Principal("sender", {Right.PUSH: ("mine",)}),
    "worker": Principal("worker", {Right.CLAIM: ("mine*",)}),
    "reader": Principal("reader", {Right.READ: ("mine",)}),
    "manager": Principal("manager", {Right.MANAGE: ("mine*",)}),
}


class Named(Open):
    """Knows callers by the name that they sign with."""

    def principal(self, request: Request) -> Principal:
        return self.signer(request, b"")

    def expect(self, request: Request) -> None:
        pass

    def signer(self, request: Request, body: bytes) -> Principal:
        said = request.header(b"authorization") or ""
        name = said.partition("Credential=")[2].partition("/")[0]
        if name not in EVERYBODY:
            raise Refusal(403, "nobody we know", code="InvalidClientTokenId")
        return EVERYBODY[name]


@pytest.fixture(scope="module")
def people() -> Iterator[dict[str, Any]]:
    with connect("memory://") as mq, serving(mq, access=Named()) as endpoint:
        clients = {name: client_of("sqs", endpoint, aws_access_key_id=name) for name in EVERYBODY}
        for queue in ("mine", "mine-dead", "other"):
            clients["owner"].create_queue(QueueName=queue)
        clients["stranger"] = client_of("sqs", endpoint, aws_access_key_id="stranger")
        clients["strange publisher"] = client_of("sns", endpoint, aws_access_key_id="stranger")
        yield clients


def test_every_operation_of_aws_has_a_right(people: dict[str, Any]) -> None:
    assert set(people["owner"].meta.service_model.operation_names) == set(ACTIONS)


def test_each_may_do_what_it_has_the_right_for(people: dict[str, Any]) -> None:
    people["sender"].send_message(QueueUrl="mine", MessageBody="x")
    message = one(people["worker"].receive_message(QueueUrl="mine"))
    people["worker"].delete_message(QueueUrl="mine", ReceiptHandle=message["ReceiptHandle"])
    assert people["reader"].get_queue_attributes(QueueUrl="mine", AttributeNames=["QueueArn"])["Attributes"]
    people["manager"].set_queue_attributes(QueueUrl="mine", Attributes={"DelaySeconds": "0"})
    assert people["manager"].get_queue_url(QueueName="mine")["QueueUrl"]


@pytest.mark.parametrize("queue", ["mine", "other", "not-there"])
def test_nobody_may_do_more_and_cannot_tell_what_exists(people: dict[str, Any], queue: str) -> None:
    words = "Access to the resource is denied."
    for name in ("sender", "reader", "manager"):
        with refused("AccessDenied", words, status=403):
            people[name].receive_message(QueueUrl=queue)
    for name in ("worker", "reader", "manager"):
        with refused("AccessDenied", words, status=403):
            people[name].send_message(QueueUrl=queue, MessageBody="x")
    for name in ("worker", "sender", "reader"):
        with refused("AccessDenied", words, status=403):
            people[name].delete_queue(QueueUrl=queue)
    assert bodies(people["owner"].receive_message(QueueUrl="other")) == []


def test_a_list_shows_what_its_reader_may_read(people: dict[str, Any]) -> None:
    def names(who: str) -> list[str]:
        return [url.rpartition("/")[2] for url in people[who].list_queues().get("QueueUrls", [])]

    assert names("reader") == ["mine"]
    assert names("manager") == ["mine", "mine-dead"]
    assert names("sender") == []
    assert names("owner") == ["mine", "mine-dead", "other"]


def test_dead_letters_go_only_where_one_may_push(people: dict[str, Any]) -> None:
    policy = '{{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:{}","maxReceiveCount":3}}'
    for queue in ("other", "not-there", "mine-dead"):
        with refused("AccessDenied", status=403):
            people["manager"].set_queue_attributes(
                QueueUrl="mine", Attributes={"RedrivePolicy": policy.format(queue)}
            )
        with refused("AccessDenied", status=403):
            people["manager"].create_queue(
                QueueName="mine-new", Attributes={"RedrivePolicy": policy.format(queue)}
            )
    people["owner"].set_queue_attributes(
        QueueUrl="mine", Attributes={"RedrivePolicy": policy.format("mine-dead")}
    )
    with refused("AccessDenied", status=403):
        people["manager"].start_message_move_task(
            SourceArn="arn:aws:sqs:us-east-1:000000000000:mine-dead",
            DestinationArn="arn:aws:sqs:us-east-1:000000000000:other",
        )


def test_messages_go_back_only_where_one_may_push(people: dict[str, Any]) -> None:
    source = "arn:aws:sqs:us-east-1:000000000000:mine-dead"
    policy = f'{{"deadLetterTargetArn":"{source}","maxReceiveCount":3}}'
    people["owner"].set_queue_attributes(QueueUrl="mine", Attributes={"RedrivePolicy": policy})
    with refused("AccessDenied", status=403):
        people["manager"].start_message_move_task(SourceArn=source)
    assert people["owner"].start_message_move_task(SourceArn=source)["TaskHandle"]


def test_the_exception_has_its_own_code(people: dict[str, Any]) -> None:
    with pytest.raises(ClientError) as caught:
        people["reader"].purge_queue(QueueUrl="mine")
    assert caught.value.response["Error"]["QueryErrorCode"] == "AccessDeniedException"


def test_a_stranger_is_refused_in_the_protocol_that_it_speaks(people: dict[str, Any]) -> None:
    with refused("InvalidClientTokenId", "nobody we know", status=403):
        people["stranger"].list_queues()
    with refused("InvalidClientTokenId", "nobody we know", status=403):
        people["strange publisher"].list_topics()
