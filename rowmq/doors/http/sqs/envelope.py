"""The JSON that SNS wraps a notification in, unless a subscription is raw."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from rowmq.doors.http.sqs.md5 import Attribute


def envelope(
    id: UUID,
    topic: str,
    message: str,
    subject: str | None,
    attributes: Mapping[str, Attribute],
    now: datetime,
) -> str:
    """A notification, in the order of fields that SNS has. It is not signed."""
    said: dict[str, Any] = {
        "Type": "Notification",
        "MessageId": str(id),
        "TopicArn": topic,
        **({} if subject is None else {"Subject": subject}),
        "Message": message,
        "Timestamp": f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03d}Z",
        "SignatureVersion": "1",
        "Signature": "",
        "SigningCertURL": "",
        "UnsubscribeURL": "",
    }
    if attributes:
        said["MessageAttributes"] = {
            name: {"Type": each.type, "Value": each.value} for name, each in attributes.items()
        }
    return json.dumps(said, ensure_ascii=False)
