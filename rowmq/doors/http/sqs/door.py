"""The door itself: finds out which protocol is spoken and which operation meant, and answers in kind."""

from collections.abc import Mapping
from typing import Any

from rowmq.core.errors import RowMQError
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.request import Gone, Request
from rowmq.doors.http.route import Family, Route
from rowmq.doors.http.sqs import json_codec, query_codec
from rowmq.doors.http.sqs.actions import ACTIONS, Action, by_nothing
from rowmq.doors.http.sqs.asked import Asked, Result, Shared
from rowmq.doors.http.sqs.errors import Fault, as_fault
from rowmq.doors.http.sqs.form import fields_of
from rowmq.doors.http.sqs.reading import read
from rowmq.doors.http.sqs.settings import Settings
from rowmq.doors.http.sqs.topic_actions import TOPIC_ACTIONS

TARGET = "AmazonSQS."
LIMIT = 16 * 2**20
"""A message of 1 MiB may be three times that in a form, and a batch has to fit as well."""
WITHOUT_QUEUE = ("CreateQueue", "ListQueues")
PATHS = ("/", "/{account}/{queue}", "/queue/{queue}", "/queue/{region}/{account}/{queue}")


class Door:
    """SQS, and what of SNS goes with it, over both protocols."""

    def __init__(self, settings: Settings) -> None:
        self._shared = Shared(settings)

    async def answer(self, call: Call) -> Answer:
        """An operation of SQS or SNS, named by X-Amz-Target (JSON) or Action (a form or a query)."""
        await self._shared.runner.resume(call.broker, self._shared.known)
        target = call.request.header(b"x-amz-target")
        return await (self._form(call) if target is None else self._json(call, target))

    async def _json(self, call: Call, target: str) -> Answer:
        try:
            action = ACTIONS.get(target.removeprefix(TARGET))
            if action is None:
                raise _unknown(target)
            return json_codec.answer(await self._performed(call, action, json_codec.read_body(call.body)))
        except Gone:
            raise
        except (Refusal, RowMQError) as error:
            return json_codec.fault_answer(as_fault(error))

    async def _form(self, call: Call) -> Answer:
        fields, topics = [*call.request.query], False
        try:
            fields += fields_of(call.body) if call.body else []
            name = dict(fields).get("Action", "")
            if not name:
                return query_codec.unknown_operation()
            topics = name in TOPIC_ACTIONS
            action = _named(name, call.path)
            result = await self._performed(call, action, query_codec.read_form(fields, name))
            return query_codec.answer(name, result, topics=topics)
        except Gone:
            raise
        except (Refusal, RowMQError) as error:
            return query_codec.fault_answer(as_fault(error), topics=topics)

    async def _performed(self, call: Call, action: Action, given: dict[str, Any]) -> Result:
        if "queue" in call.path and given.get("QueueUrl") is None:
            given["QueueUrl"] = call.path["queue"]
        said = read(action.takes, given)
        asked = Asked(call, self._shared, action.about(said))
        if action.about is not by_nothing:
            call.demand(action.right, asked.name)
        return await action.perform(asked, said)


def family(settings: Settings | None = None) -> Family:
    """The routes of SQS and of the part of SNS that goes with it."""
    door = Door(settings or Settings())
    routes = [_route(door, method, path) for path in PATHS for method in ("POST", "GET")]
    return Family("sqs", routes, refuse, refuse_in_kind=refuse_in_kind)


def refuse(error: Exception) -> Answer:
    """No, to a request that came no further than the door."""
    return json_codec.fault_answer(as_fault(error))


def refuse_in_kind(request: Request, error: Exception) -> Answer:
    """The same, in the protocol that the request was made in."""
    if request.header(b"x-amz-target") is not None:
        return refuse(error)
    return query_codec.fault_answer(as_fault(error))


def _route(door: Door, method: str, path: str) -> Route:
    return Route(
        method,
        path,
        door.answer,
        right=None,
        late=True,
        signed=True,
        body=bytes,
        refuses=(400, 403, 404, 500, 503),
        limit=LIMIT,
        lasts=True,
        consumes=True,
    )


def _named(name: str, path: Mapping[str, str]) -> Action:
    found = ACTIONS.get(name) or TOPIC_ACTIONS.get(name)
    if found is None or ("queue" in path and name in WITHOUT_QUEUE):
        raise Fault("UnknownOperationException", f"The action {name} is not valid for this endpoint.")
    return found


def _unknown(target: str) -> Fault:
    return Fault("UnknownOperationException", f"The operation {target} is not known.")
