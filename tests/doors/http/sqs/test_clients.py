"""Clients of other languages and ages do real work, unchanged."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.doors.http.sqs.programs import ENVIRONMENT, HERE, found, printed
from tests.doors.http.sqs.serving import ACCOUNT
from tests.servers import ServerMissingError, skip_or_fail


class Shell:
    """The aws command, pointed at the server."""

    def __init__(self, endpoint: str, folder: Path) -> None:
        self._start: list[str | Path] = [
            found(ENVIRONMENT / "bin" / "aws"),
            "--endpoint-url",
            endpoint,
            "--output",
            "json",
        ]
        self._folder = folder

    def sqs(self, *arguments: str) -> dict[str, Any]:
        """What a command of ``aws sqs`` answers."""
        text = printed([*self._start, "sqs", *arguments], self._folder)
        answer: dict[str, Any] = json.loads(text) if text else {}
        return answer


def test_the_aws_command_does_what_it_does(endpoint: str, tmp_path: Path, name: str) -> None:
    aws = Shell(endpoint, tmp_path)
    url = aws.sqs("create-queue", "--queue-name", name, "--attributes", "VisibilityTimeout=45")["QueueUrl"]
    assert url == f"{endpoint}/{ACCOUNT}/{name}"
    assert aws.sqs("list-queues", "--queue-name-prefix", name)["QueueUrls"] == [url]
    attributes = '{"kind":{"DataType":"String","StringValue":"news"}}'
    sent = aws.sqs(
        "send-message", "--queue-url", url, "--message-body", "hello", "--message-attributes", attributes
    )
    got = aws.sqs(
        "receive-message",
        "--queue-url",
        url,
        "--wait-time-seconds",
        "5",
        "--attribute-names",
        "All",
        "--message-attribute-names",
        "All",
    )
    (message,) = got["Messages"]
    assert (message["Body"], message["MessageId"]) == ("hello", sent["MessageId"])
    assert message["MessageAttributes"] == json.loads(attributes)
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
    aws.sqs("delete-message", "--queue-url", url, "--receipt-handle", message["ReceiptHandle"])
    shown = aws.sqs("get-queue-attributes", "--queue-url", url, "--attribute-names", "All")["Attributes"]
    assert (shown["VisibilityTimeout"], shown["ApproximateNumberOfMessagesNotVisible"]) == ("45", "0")
    aws.sqs("tag-queue", "--queue-url", url, "--tags", "team=mail")
    assert aws.sqs("list-queue-tags", "--queue-url", url)["Tags"] == {"team": "mail"}
    aws.sqs("purge-queue", "--queue-url", url)
    aws.sqs("delete-queue", "--queue-url", url)
    assert aws.sqs("list-queues", "--queue-name-prefix", name) == {}


def test_the_javascript_client_does_real_work(endpoint: str, tmp_path: Path, name: str) -> None:
    node = shutil.which("node")
    if node is None:
        skip_or_fail(ServerMissingError("node is not installed"))
    modules = found(ENVIRONMENT / "javascript" / "node_modules")
    text = printed([node, HERE / "javascript" / "work.cjs", endpoint, name], tmp_path, NODE_PATH=str(modules))
    root = f"{endpoint}/{ACCOUNT}/{name}"
    assert json.loads(text) == {
        "url": root,
        "batch": 10,
        "order": "abc",
        "failures": {
            "absent": ["QueueDoesNotExist", 400],
            "handle": ["ReceiptHandleIsInvalid", 400],
            "range": ["InvalidParameterValue", 400],
            "batch": ["EmptyBatchRequest", 400],
        },
        "listed": [root, f"{root}.fifo"],
        "news": "news",
    }


@pytest.mark.parametrize("part", ["messages", "batches", "queues", "failures"])
def test_a_client_of_the_query_protocol_does_real_work(
    endpoint: str, tmp_path: Path, name: str, part: str
) -> None:
    packages = found(ENVIRONMENT / "old_boto3")
    program = HERE / "old_boto3_work.py"
    text = printed(
        [ENVIRONMENT / "bin" / "python", program, endpoint, name, part], tmp_path, PYTHONPATH=str(packages)
    )
    assert json.loads(text) == {"protocol": "query", "done": part}
