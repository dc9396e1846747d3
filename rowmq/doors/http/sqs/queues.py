"""CreateQueue, GetQueueUrl, ListQueues, DeleteQueue, PurgeQueue, and whose dead letters a queue takes."""

import re
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rowmq.core.clock import micros
from rowmq.core.outcome import State
from rowmq.core.queue import Queue
from rowmq.core.store import Store
from rowmq.doors.http.sqs import attributes, redrive_policy
from rowmq.doors.http.sqs.asked import Asked, Result
from rowmq.doors.http.sqs.errors import Fault, invalid, invalid_value
from rowmq.doors.http.sqs.limits import check_count
from rowmq.doors.http.sqs.reserved import CREATED, MODIFIED, PURGED, SCOPE
from rowmq.doors.http.sqs.settings import SECONDS_TO_WAIT
from rowmq.doors.http.sqs.shapes import (
    CreateQueue,
    GetQueueUrl,
    ListDeadLetterSourceQueues,
    ListQueues,
    OfQueue,
    Paged,
)
from rowmq.doors.http.sqs.tagging import check_tags
from rowmq.doors.right import Right

NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")
IN_ORDER = ".fifo"
LONGEST_NAME = 80
LARGEST_PAGE = 1000
LETTERS = "alphanumeric characters, hyphens, or underscores"
LENGTH = "1 to 80 in length"
MICROSECONDS = 1_000_000


async def create_queue(asked: Asked, given: CreateQueue) -> Result:
    """Create a queue, or find that it exists just so."""
    said = dict(given.attributes or {})
    fifo = _check_name(given.queue_name, said)
    attributes.check(said, fifo=fifo)
    redrive_policy.check_allowing(said.get("RedriveAllowPolicy", ""))
    check_tags(given.tags or {})
    _demand_target(asked, said)
    _check_deleted(asked)
    await asked.call.run(lambda: _create(asked, said, given.tags or {}, fifo=fifo))
    asked.shared.known.forget(asked.name)
    return {"QueueUrl": asked.url(asked.name)}


async def get_queue_url(asked: Asked, given: GetQueueUrl) -> Result:  # noqa: ARG001 - its name is known
    """Where a queue is."""
    queue = await asked.fresh_queue()
    return {"QueueUrl": asked.url(queue.name)}


async def list_queues(asked: Asked, given: ListQueues) -> Result:
    """The queues that the caller may read."""
    prefix = given.queue_name_prefix or ""
    names = [queue.name for queue in await asked.call.run(asked.store.queues.list)]
    readable = [name for name in names if name.startswith(prefix) and _may_read(asked, name)]
    page, token = paged(readable, given)
    return {"QueueUrls": [asked.url(name) for name in page] or None, "NextToken": token}


async def list_dead_letter_source_queues(asked: Asked, given: ListDeadLetterSourceQueues) -> Result:
    """The queues whose dead letters come here."""
    await asked.fresh_queue()
    queues = await asked.call.run(asked.store.queues.list)
    names = [each.name for each in queues if each.dead_letter == asked.name and _may_read(asked, each.name)]
    page, token = paged(names, given)
    return {"queueUrls": [asked.url(name) for name in page], "NextToken": token}


async def delete_queue(asked: Asked, given: OfQueue) -> Result:  # noqa: ARG001 - its name is known
    """Delete a queue with all that is in it; queues whose dead letters came here keep theirs."""
    await asked.fresh_queue()
    await asked.call.run(lambda: _drop(asked.store, asked.name))
    asked.shared.known.forget(asked.name)
    asked.shared.deleted[asked.name] = time.monotonic()
    return {}


async def purge_queue(asked: Asked, given: OfQueue) -> Result:  # noqa: ARG001 - its name is known
    """Delete all messages, also those in flight and delayed, and forget what was sent for deduplication."""
    now = await asked.now()
    await asked.change(lambda queue: _purged(asked, queue, micros(now)))
    await asked.call.run(lambda: _purge(asked.store, asked.name, asked.call.now))
    return {}


def paged(names: Sequence[str], given: Paged) -> tuple[Sequence[str], str | None]:
    """A page of sorted names, and a token for the next one if pages were asked for and there is one."""
    check_count(given.max_results, "MaxResults", 1, LARGEST_PAGE)
    after = _opened(given.next_token)
    left = [name for name in names if name > after]
    page = left[: given.max_results or LARGEST_PAGE]
    more = given.max_results is not None and len(left) > len(page)
    return page, urlsafe_b64encode(page[-1].encode()).decode() if more else None


def _opened(token: str | None) -> str:
    try:
        return urlsafe_b64decode(token or "").decode()
    except ValueError:
        raise invalid_value(token, "NextToken", "it was not given out here.") from None


def _may_read(asked: Asked, name: str) -> bool:
    return asked.call.principal.may(Right.READ, name)


def _check_name(name: str, said: dict[str, str]) -> bool:
    """Refuse a name that AWS would not take; whether it is a FIFO queue's."""
    if not NAME.fullmatch(name.removesuffix(IN_ORDER)) or len(name) > LONGEST_NAME:
        raise invalid(f"Can only include {LETTERS}. {LENGTH}")
    wanted = said.get("FifoQueue", "false")
    if wanted == "false" and "FifoQueue" in said:
        raise attributes.unknown("FifoQueue")
    if wanted == "true" and not name.endswith(IN_ORDER):
        raise invalid(
            f"The name of a FIFO queue can only include {LETTERS}, "
            f"must end with .fifo suffix and be {LENGTH}."
        )
    if wanted != "true" and name.endswith(IN_ORDER):
        raise invalid(f"Can only include {LETTERS}. {LENGTH}")
    return wanted == "true"


def _demand_target(asked: Asked, said: Mapping[str, str]) -> None:
    """Whoever lets dead letters go somewhere needs the right to push there."""
    policy = redrive_policy.read_policy(said.get(redrive_policy.NAME, ""))
    if policy is not None:
        asked.call.demand(Right.PUSH, policy.target)


def _check_deleted(asked: Asked) -> None:
    deleted = asked.shared.deleted.get(asked.name)
    if asked.settings.delete_wait and deleted and time.monotonic() - deleted < SECONDS_TO_WAIT:
        raise Fault(
            "QueueDeletedRecently",
            f"You must wait {SECONDS_TO_WAIT} seconds after deleting a queue before you can create another "
            "with the same name.",
        )


def _create(asked: Asked, said: Mapping[str, str], tags: Mapping[str, str], *, fifo: bool) -> None:
    queue = asked.store.queues.get(asked.name)
    if queue is not None:
        _check_same(asked, queue, said)
        return
    now = str(micros(asked.call.now or asked.store.now()) // MICROSECONDS)
    ours = {CREATED: now, MODIFIED: now} | ({SCOPE: said.get("DeduplicationScope", "queue")} if fifo else {})
    retention = {"MessageRetentionPeriod": str(attributes.RETENTION)}
    changes: dict[str, Any] = {"fifo": fifo, "max_attempts": None}
    changes |= attributes.settings({**retention, **said}, {**tags, **ours})
    policy = redrive_policy.as_settings(asked.store, asked.name, said.get(redrive_policy.NAME, ""), fifo=fifo)
    asked.store.queues.put(asked.name, changes | policy)


def _check_same(asked: Asked, queue: Queue, said: Mapping[str, str]) -> None:
    """Refuse to create a queue that exists with another value of any attribute given."""
    has = attributes.present(queue) | {redrive_policy.NAME: redrive_policy.shown(asked.settings, queue) or ""}
    for name, value in said.items():
        if not _same(name, has.get(name, ""), value):
            raise Fault(
                "QueueNameExists",
                f"A queue already exists with the same name and a different value for attribute {name}",
            )


def _same(name: str, has: str, value: str) -> bool:
    if name == redrive_policy.NAME:
        return redrive_policy.read_policy(has) == redrive_policy.read_policy(value)
    if attributes.CHECKS[name] is attributes.json_object and has and value:
        return bool(attributes.as_object(name, has) == attributes.as_object(name, value))
    return has == value


def _drop(store: Store, name: str) -> None:
    for queue in store.queues.list():
        if queue.dead_letter == name:
            store.queues.put(queue.name, redrive_policy.NOWHERE)
    store.queues.drop(name)


def _purged(asked: Asked, queue: Queue, now: int) -> dict[str, Any]:
    before = int(queue.tags.get(PURGED, "0"))
    if asked.settings.purge_wait and now - before < SECONDS_TO_WAIT * MICROSECONDS:
        raise Fault(
            "PurgeQueueInProgress",
            f"Only one PurgeQueue operation on {queue.name} is allowed every {SECONDS_TO_WAIT} seconds.",
        )
    return {"tags": {**queue.tags, PURGED: str(now)}}


def _purge(store: Store, name: str, now: datetime | None) -> None:
    store.queues.purge(name, now=now)
    store.queues.purge(name, state=State.LEASED, now=now)
