"""Short ways to ask for common things, and to say what must be refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError


def bodies(answer: dict[str, Any]) -> list[str]:
    """The bodies of what was received."""
    return [message["Body"] for message in answer.get("Messages", [])]


def one(answer: dict[str, Any]) -> dict[str, Any]:
    """The only message received."""
    (message,) = answer["Messages"]
    found: dict[str, Any] = message
    return found


def handles(answer: dict[str, Any]) -> list[str]:
    """The receipt handles of what was received."""
    return [message["ReceiptHandle"] for message in answer.get("Messages", [])]


def arn_of(sqs: Any, url: str) -> str:
    """A queue's ARN."""
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
    found: str = attributes["QueueArn"]
    return found


@contextmanager
def refused(code: str, words: str = "", *, status: int = 400) -> Iterator[None]:
    """What is asked for here is refused with this code, these words and this status."""
    with pytest.raises(ClientError) as caught:
        yield
    answer = caught.value.response
    assert answer["Error"]["Code"] == code
    assert words in answer["Error"]["Message"]
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == status
