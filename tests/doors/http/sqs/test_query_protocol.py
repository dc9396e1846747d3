"""The query protocol: forms in, XML out, spoken by hand and by a client made from its old description."""

import hashlib
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import pytest

from tests.doors.http.sqs.conftest import NewQueue
from tests.doors.http.sqs.serving import ACCOUNT

SPACE = "{http://queue.amazonaws.com/doc/2012-11-05/}"


class Old:
    """A client that speaks forms."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.last = httpx.Response(200)

    def ask(self, action: str, path: str = "/", method: str = "POST", **fields: str) -> ET.Element:
        """The result's element, or the error's."""
        said = {"Action": action, "Version": "2012-11-05"} | {
            name.replace("__", "."): value for name, value in fields.items()
        }
        how: dict[str, Any] = {"data": said} if method == "POST" else {"params": said}
        self.last = httpx.request(method, self.endpoint + path, timeout=60, **how)
        root = ET.fromstring(self.last.content)  # noqa: S314 - our own server's
        assert self.last.headers["content-type"] == "text/xml"
        assert root.tag == SPACE + ("ErrorResponse" if self.last.is_error else f"{action}Response")
        return root

    def text(self, action: str, place: str, **fields: str) -> str:
        """One text of an answer."""
        found = self.ask(action, **fields).find(".//" + SPACE + place)
        assert found is not None, self.last.text
        return found.text or ""

    def code(self, action: str, path: str = "/", **fields: str) -> tuple[int, str, str]:
        """Status, code and message of a failure."""
        root = self.ask(action, path, **fields)
        code, message = (root.find(f".//{SPACE}{name}") for name in ("Code", "Message"))
        assert code is not None
        assert message is not None
        return self.last.status_code, code.text or "", message.text or ""


@pytest.fixture(scope="module")
def old(endpoint: str) -> Old:
    return Old(endpoint)


def texts(root: ET.Element, name: str) -> list[str]:
    return [each.text or "" for each in root.iter(SPACE + name)]


def test_a_message_goes_through_as_a_form(old: Old, name: str) -> None:
    url = old.text(
        "CreateQueue", "QueueUrl", QueueName=name, Attribute__1__Name="DelaySeconds", Attribute__1__Value="0"
    )
    assert url == f"{old.endpoint}/{ACCOUNT}/{name}"
    assert old.text("GetQueueUrl", "QueueUrl", QueueName=name) == url
    sent = old.ask("SendMessage", f"/{ACCOUNT}/{name}", MessageBody="hello")
    assert texts(sent, "MD5OfMessageBody") == ["5d41402abc4b2a76b9719d911017c592"]
    assert texts(sent, "RequestId")
    found = old.ask("ReceiveMessage", QueueUrl=url, AttributeName__1="All")
    assert texts(found, "Body") == ["hello"]
    assert texts(found, "MessageId") == texts(sent, "MessageId")
    assert "ApproximateReceiveCount" in texts(found, "Name")
    (handle,) = texts(found, "ReceiptHandle")
    old.ask("ChangeMessageVisibility", QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout="0")
    (handle,) = texts(old.ask("ReceiveMessage", QueueUrl=url), "ReceiptHandle")
    old.ask("DeleteMessage", QueueUrl=url, ReceiptHandle=handle)
    assert (
        old.text(
            "GetQueueAttributes",
            "Value",
            QueueUrl=url,
            AttributeName__1="ApproximateNumberOfMessagesNotVisible",
        )
        == "0"
    )
    old.ask("DeleteQueue", QueueUrl=url)
    assert old.code("DeleteQueue", QueueUrl=url) == (
        400,
        "AWS.SimpleQueueService.NonExistentQueue",
        "The specified queue does not exist for this wsdl version.",
    )


@pytest.mark.parametrize("body", ['say "hi" & <go>', "a\r\nb\tc\n", "]]>", "žluť 🐎", "&quot;&#xD;"])
def test_a_body_keeps_its_digest_through_xml(old: Old, queue: str, body: str) -> None:
    old.ask("SendMessage", QueueUrl=queue, MessageBody=body)
    found = old.ask("ReceiveMessage", QueueUrl=queue)
    assert texts(found, "Body") == [body]
    assert texts(found, "MD5OfBody") == [hashlib.md5(body.encode()).hexdigest()]  # noqa: S324


def test_message_attributes_are_numbered_pairs(old: Old, sqs: Any, queue: str) -> None:
    old.ask(
        "SendMessage",
        QueueUrl=queue,
        MessageBody="x",
        **{
            "MessageAttribute.1.Name": "attribName1",
            "MessageAttribute.1.Value.DataType": "String",
            "MessageAttribute.1.Value.StringValue": "attribValue 1",
            "MessageAttribute.2.Name": "raw",
            "MessageAttribute.2.Value.DataType": "Binary",
            "MessageAttribute.2.Value.BinaryValue": "AP8=",
        },
    )
    found = old.ask("ReceiveMessage", QueueUrl=queue, MessageAttributeName__1="attribName1")
    assert texts(found, "MD5OfMessageAttributes") == ["19e27d4e946b072f3f58da80d94fd778"]
    assert texts(found, "StringValue") == ["attribValue 1"]
    sqs.change_message_visibility(
        QueueUrl=queue, ReceiptHandle=texts(found, "ReceiptHandle")[0], VisibilityTimeout=0
    )
    (message,) = sqs.receive_message(QueueUrl=queue, MessageAttributeNames=["raw"])["Messages"]
    assert message["MessageAttributes"]["raw"] == {"DataType": "Binary", "BinaryValue": b"\x00\xff"}


def test_batches_are_numbered_entries(old: Old, queue: str) -> None:
    entries = {
        f"SendMessageBatchRequestEntry.{n}.{field}": value
        for n in range(1, 11)
        for field, value in (("Id", f"e{n}"), ("MessageBody", f"body {n}"))
    }
    sent = old.ask("SendMessageBatch", QueueUrl=queue, **entries)
    assert texts(sent, "Id") == [f"e{n}" for n in range(1, 11)]
    assert len(list(sent.iter(SPACE + "SendMessageBatchResultEntry"))) == 10
    held = texts(old.ask("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages="10"), "ReceiptHandle")
    changes = {
        f"ChangeMessageVisibilityBatchRequestEntry.{n}.{field}": value
        for n, handle in enumerate(held, 1)
        for field, value in (("Id", str(n)), ("ReceiptHandle", handle), ("VisibilityTimeout", "60"))
    }
    changed = old.ask("ChangeMessageVisibilityBatch", QueueUrl=queue, **changes)
    assert len(list(changed.iter(SPACE + "ChangeMessageVisibilityBatchResultEntry"))) == 10
    deletes = {
        f"DeleteMessageBatchRequestEntry.{n}.{field}": value
        for n, handle in enumerate([held[0], "garbage"], 1)
        for field, value in (("Id", str(n)), ("ReceiptHandle", handle))
    }
    deleted = old.ask("DeleteMessageBatch", QueueUrl=queue, **deletes)
    assert len(list(deleted.iter(SPACE + "DeleteMessageBatchResultEntry"))) == 1
    (failed,) = deleted.iter(SPACE + "BatchResultErrorEntry")
    assert texts(failed, "Code") == ["ReceiptHandleIsInvalid"]
    assert texts(failed, "SenderFault") == ["true"]


def test_tags_permissions_and_lists_have_singular_names(old: Old, name: str) -> None:
    url = old.text("CreateQueue", "QueueUrl", QueueName=name, Tag__1__Key="team", Tag__1__Value="mail")
    old.ask("TagQueue", QueueUrl=url, Tag__1__Key="n", Tag__1__Value="1")
    tags = old.ask("ListQueueTags", QueueUrl=url)
    assert sorted(texts(tags, "Key")) == ["n", "team"]
    old.ask("UntagQueue", QueueUrl=url, TagKey__1="n", TagKey__2="other")
    assert texts(old.ask("ListQueueTags", QueueUrl=url), "Key") == ["team"]
    old.ask("AddPermission", QueueUrl=url, Label="l", AWSAccountId__1="1", ActionName__1="SendMessage")
    assert '"Sid":"l"' in old.text("GetQueueAttributes", "Value", QueueUrl=url, AttributeName__1="Policy")
    old.ask("RemovePermission", QueueUrl=url, Label="l")
    old.ask("SetQueueAttributes", QueueUrl=url, Attribute__Name="VisibilityTimeout", Attribute__Value="7")
    assert old.text("GetQueueAttributes", "Value", QueueUrl=url, AttributeName__1="VisibilityTimeout") == "7"
    assert texts(old.ask("ListQueues", QueueNamePrefix=name), "QueueUrl") == [url]
    old.ask("PurgeQueue", QueueUrl=url)


def test_dead_letters_and_their_moves_are_told_in_xml(old: Old, new_queue: NewQueue) -> None:
    dead = new_queue()
    arn = f"arn:aws:sqs:us-east-1:{ACCOUNT}:{dead.rpartition('/')[2]}"
    source = new_queue(RedrivePolicy=f'{{"deadLetterTargetArn":"{arn}","maxReceiveCount":"1"}}')
    assert texts(old.ask("ListDeadLetterSourceQueues", QueueUrl=dead), "QueueUrl") == [source]
    handle = old.text("StartMessageMoveTask", "TaskHandle", SourceArn=arn)
    assert handle
    status = old.text("ListMessageMoveTasks", "Status", SourceArn=arn)
    assert status in {"RUNNING", "COMPLETED"}
    assert old.code("CancelMessageMoveTask", TaskHandle="garbage")[:2] == (400, "InvalidParameterValue")


def test_a_get_will_do_and_head_does_nothing(old: Old, queue: str) -> None:
    path = f"/{ACCOUNT}/{queue.rpartition('/')[2]}"
    old.ask("SendMessage", path, "GET", MessageBody="hello")
    assert httpx.head(f"{old.endpoint}{path}?Action=ReceiveMessage").status_code == 405
    assert texts(old.ask("ReceiveMessage", path, "GET"), "Body") == ["hello"]


@pytest.mark.parametrize("shape", ["/queue/{}", "/queue/us-east-1/1/{}", "/123456789012/{}"])
def test_a_queue_has_other_paths_too(old: Old, queue: str, shape: str) -> None:
    path = shape.format(queue.rpartition("/")[2])
    old.ask("SendMessage", path, MessageBody="hello")
    assert texts(old.ask("ReceiveMessage", path), "Body") == ["hello"]


def test_the_url_in_the_form_wins_over_the_path(old: Old, queue: str) -> None:
    old.ask("SendMessage", "/1/another", QueueUrl=queue, MessageBody="hello")
    assert texts(old.ask("ReceiveMessage", QueueUrl=queue), "Body") == ["hello"]


def test_json_at_a_queues_path_will_do(endpoint: str, queue: str) -> None:
    answer = httpx.post(
        queue,
        headers={"X-Amz-Target": "AmazonSQS.SendMessage", "Content-Type": "application/x-amz-json-1.0"},
        json={"MessageBody": "hello"},
    )
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/x-amz-json-1.0"
    assert answer.headers["x-amzn-requestid"]
    assert "x-amz-crc32" not in answer.headers


def test_asking_for_nothing_known_is_refused(old: Old, endpoint: str, queue: str) -> None:
    path = f"/{ACCOUNT}/{queue.rpartition('/')[2]}"
    words = "The action {} is not valid for this endpoint."
    assert old.code("Fly") == (400, "InvalidAction", words.format("Fly"))
    assert old.code("CreateQueue", path, QueueName="x") == (400, "InvalidAction", words.format("CreateQueue"))
    assert old.code("ListQueues", path)[1] == "InvalidAction"
    nothing = httpx.get(f"{endpoint}{path}")
    assert (nothing.status_code, nothing.text.strip()) == (404, "<UnknownOperationException/>")
    odd = httpx.post(endpoint, headers={"X-Amz-Target": "AmazonSQS.Fly"}, content=b"{}")
    assert odd.json()["__type"] == "com.amazon.coral.service#UnknownOperationException"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"{", "SerializationException"),
        (b"[]", "SerializationException"),
        (b"\xff", "SerializationException"),
        (b'{"QueueUrl": 5}', "SerializationException"),
        (b'{"QueueUrl": "q", "Entries": 7}', "SerializationException"),
        (b"[" * 10_000, "SerializationException"),
        (b"{}", "MissingRequiredParameterException"),
    ],
)
def test_a_body_that_makes_no_sense_is_the_callers_mistake(endpoint: str, body: bytes, kind: str) -> None:
    answer = httpx.post(endpoint, headers={"X-Amz-Target": "AmazonSQS.SendMessageBatch"}, content=body)
    assert (answer.status_code, answer.json()["__type"]) == (400, f"com.amazon.coral.service#{kind}")
    assert answer.headers["x-amzn-query-error"].endswith(";Sender")


@pytest.mark.parametrize(
    "body",
    [
        b"Action=SendMessage&QueueUrl=%ff",
        b"Action=SendMessage&A=1&A.B=2",
        b"Action=SendMessageBatch&QueueUrl=q&SendMessageBatchRequestEntry.1=x",
        b"Action=SetQueueAttributes&QueueUrl=q&Attribute.1=x",
        b"Action=SetQueueAttributes&QueueUrl=q&Attribute.1.Name.x=y",
        b"Action=ReceiveMessage&QueueUrl=q&MaxNumberOfMessages=many",
        b"Action=SendMessage&" + b"a=b&" * 3000,
        b"Action=" + b"a." * 5000,
        b"\x00\xff=\xfe",
    ],
)
def test_a_form_that_makes_no_sense_is_the_callers_mistake(endpoint: str, body: bytes) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = httpx.post(endpoint, content=body, headers=form)
    assert answer.status_code in {400, 404}
    ET.fromstring(answer.content)  # noqa: S314 - our own server's


def test_a_missing_parameter_is_named(old: Old, queue: str) -> None:
    assert old.code("SendMessage", QueueUrl=queue) == (
        400,
        "MissingParameter",
        "The request must contain the parameter MessageBody.",
    )
    assert old.code("CreateQueue")[2] == "The request must contain the parameter QueueName."


def test_a_whole_mebibyte_fits_into_a_form(old: Old, queue: str) -> None:
    body = "<" * 2**20  # three bytes each on the wire
    old.ask("SendMessage", QueueUrl=queue, MessageBody=body)
    assert texts(old.ask("ReceiveMessage", QueueUrl=queue), "Body") == [body]


def test_a_presigned_url_will_do(sqs: Any, queue: str) -> None:
    url = sqs.generate_presigned_url("list_queues", Params={"QueueNamePrefix": queue.rpartition("/")[2]})
    assert "X-Amz-Signature" in url
    answer = httpx.get(url + "&Action=ListQueues")
    assert texts(ET.fromstring(answer.content), "QueueUrl") == [queue]  # noqa: S314 - our own server's
