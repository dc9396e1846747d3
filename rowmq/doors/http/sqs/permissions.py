"""AddPermission and RemovePermission: statements in a queue's policy, kept for whoever asks to see it.

They grant nothing here: who may do what is said by the server's own tokens and keys.
"""

import json
import re
from typing import Any

from rowmq.core.queue import Queue
from rowmq.doors.http.sqs.asked import Asked, Result
from rowmq.doors.http.sqs.errors import Fault, invalid_value, missing
from rowmq.doors.http.sqs.reserved import PREFIX
from rowmq.doors.http.sqs.shapes import AddPermission, RemovePermission

LABEL = re.compile(r"[A-Za-z0-9_-]{1,80}")
MOST_ACTIONS = 7
POLICY = PREFIX + "Policy"
GRANTABLE = frozenset(
    {
        "*",
        "SendMessage",
        "ReceiveMessage",
        "DeleteMessage",
        "ChangeMessageVisibility",
        "GetQueueAttributes",
        "GetQueueUrl",
        "ListDeadLetterSourceQueues",
        "PurgeQueue",
    }
)


async def add_permission(asked: Asked, given: AddPermission) -> Result:
    """Add a statement to the queue's policy."""
    _check(given)
    await asked.change(lambda queue: _with(queue, _added(asked, queue, given)))
    return {}


async def remove_permission(asked: Asked, given: RemovePermission) -> Result:
    """Remove a statement from the queue's policy."""
    await asked.change(lambda queue: _with(queue, _removed(queue, given.label)))
    return {}


def _check(given: AddPermission) -> None:
    if not LABEL.fullmatch(given.label):
        raise invalid_value(
            given.label, "Label", "it has 1 to 80 alphanumeric characters, hyphens or underscores."
        )
    if not given.accounts or not given.actions:
        raise missing("AWSAccountIds" if not given.accounts else "Actions")
    if len(given.actions) > MOST_ACTIONS:
        raise Fault(
            "OverLimit",
            f"{len(given.actions)} Actions were found, maximum allowed is {MOST_ACTIONS}.",
        )
    for action in given.actions:
        if action not in GRANTABLE:
            raise invalid_value(
                f"SQS:{action}", "ActionName", "Only the queue owner is allowed to invoke this action."
            )


def _added(asked: Asked, queue: Queue, given: AddPermission) -> dict[str, Any]:
    policy = _policy(asked, queue)
    if any(each.get("Sid") == given.label for each in policy["Statement"]):
        raise invalid_value(given.label, "Label", "Already exists.")
    people = [f"arn:aws:iam::{account}:root" for account in given.accounts]
    actions = [f"SQS:{action}" for action in given.actions]
    statement = {
        "Sid": given.label,
        "Effect": "Allow",
        "Principal": {"AWS": people if len(people) > 1 else people[0]},
        "Action": actions if len(actions) > 1 else actions[0],
        "Resource": asked.arn(queue.name),
    }
    return {**policy, "Statement": [*policy["Statement"], statement]}


def _removed(queue: Queue, label: str) -> dict[str, Any]:
    policy = _read(queue)
    left = [each for each in policy["Statement"] if each.get("Sid") != label]
    if len(left) == len(policy["Statement"]):
        raise invalid_value(label, "Label", "can't find label.")
    return {**policy, "Statement": left}


def _policy(asked: Asked, queue: Queue) -> dict[str, Any]:
    name = f"{asked.arn(queue.name)}/SQSDefaultPolicy"
    return {"Version": "2008-10-17", "Id": name} | _read(queue)


def _read(queue: Queue) -> dict[str, Any]:
    """The policy as it was set, whatever that was, with a list of statements in any case."""
    policy: dict[str, Any] = json.loads(queue.tags.get(POLICY, "{}"))
    said = policy.get("Statement", [])
    statements = [each for each in (said if isinstance(said, list) else [said]) if isinstance(each, dict)]
    return {**policy, "Statement": statements}


def _with(queue: Queue, policy: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(policy, separators=(",", ":")) if policy["Statement"] else None
    others = {key: value for key, value in queue.tags.items() if key != POLICY}
    return {"tags": others if text is None else {**others, POLICY: text}}
