"""StartMessageMoveTask, CancelMessageMoveTask and ListMessageMoveTasks."""

from collections.abc import Mapping
from uuid import uuid4

import msgspec

from rowmq.core.clock import micros
from rowmq.core.queue import Queue
from rowmq.doors.http.sqs.address import named_by_arn
from rowmq.doors.http.sqs.asked import Asked, Result
from rowmq.doors.http.sqs.errors import Fault, invalid
from rowmq.doors.http.sqs.limits import check_count
from rowmq.doors.http.sqs.moves import Move, active_move, handle_of, moves_of, with_moves
from rowmq.doors.http.sqs.shapes import CancelMessageMoveTask, ListMessageMoveTasks, StartMessageMoveTask
from rowmq.doors.right import Right

FASTEST = 500
MOST_LISTED = 10


async def start_message_move_task(asked: Asked, given: StartMessageMoveTask) -> Result:
    """Begin to move messages out of a dead-letter queue."""
    check_count(given.max_number_of_messages_per_second, "MaxNumberOfMessagesPerSecond", 1, FASTEST)
    sources = await _sources(asked)
    if given.destination_arn is None:
        asked.call.demand(Right.PUSH, *sources)  # where everything goes back to
    move = await _new_move(asked, given)
    await asked.change(lambda queue: _begun(queue, move))
    asked.shared.runner.start(asked.call.broker, asked.shared.known, asked.name)
    return {"TaskHandle": move.handle}


async def cancel_message_move_task(asked: Asked, given: CancelMessageMoveTask) -> Result:
    """Have a task stopped; what it has moved stays where it is."""
    queue = await _source(asked)
    move = next((each for each in moves_of(queue) if each.handle == given.task_handle), None)
    if move is None:
        raise Fault("ResourceNotFoundException", "Task does not exist.")
    if not move.active:
        raise invalid("Only active tasks can be cancelled.")
    await asked.change(lambda queue: _cancelling(queue, move.handle))
    asked.shared.runner.start(asked.call.broker, asked.shared.known, asked.name)
    return {"ApproximateNumberOfMessagesMoved": move.moved}


async def list_message_move_tasks(asked: Asked, given: ListMessageMoveTasks) -> Result:
    """The latest tasks of a queue; one, unless more are asked for."""
    check_count(given.max_results, "MaxResults", 1, MOST_LISTED)
    queue = await _source(asked)
    if active_move(queue) is not None:
        asked.shared.runner.start(asked.call.broker, asked.shared.known, asked.name)
    moves = moves_of(queue)[: given.max_results or 1]
    return {"Results": [_shown(asked, move) for move in moves]}


async def _sources(asked: Asked) -> list[str]:
    """The queues whose dead messages come here."""
    await _source(asked)
    queues = await asked.call.run(asked.store.queues.list)
    found = [queue.name for queue in queues if queue.dead_letter == asked.name]
    if not found:
        raise invalid("Source queue must be configured as a Dead Letter Queue.")
    return found


async def _source(asked: Asked) -> Queue:
    queue = await asked.call.run(lambda: asked.store.queues.get(asked.name))
    if queue is None:
        raise _not_found("SourceArn")
    return queue


async def _new_move(asked: Asked, given: StartMessageMoveTask) -> Move:
    destination = None
    if given.destination_arn is not None:
        destination = named_by_arn(given.destination_arn, "DestinationArn")
        asked.call.demand(Right.PUSH, destination)
        if await asked.call.run(lambda: asked.store.queues.get(destination)) is None:
            raise _not_found("DestinationArn")
        if destination == asked.name:
            raise invalid("Source queue arn and destination queue arn cannot be the same.")
    stats = await asked.call.run(lambda: asked.store.queues.stats(asked.name))
    return Move(
        handle=handle_of(uuid4(), asked.arn(asked.name)),
        destination=destination,
        rate=given.max_number_of_messages_per_second,
        total=stats.ready,
        started=micros(await asked.now()) // 1000,
    )


def _begun(queue: Queue, move: Move) -> Mapping[str, object]:
    if active_move(queue) is not None:
        raise invalid(
            "There is already a task running. "
            "Only one active task is allowed for a source queue arn at a given time."
        )
    return with_moves(queue, [move, *moves_of(queue)])


def _cancelling(queue: Queue, handle: str) -> Mapping[str, object]:
    return with_moves(
        queue,
        [
            msgspec.structs.replace(move, status="CANCELLING")
            if move.handle == handle and move.active
            else move
            for move in moves_of(queue)
        ],
    )


def _shown(asked: Asked, move: Move) -> Result:
    return {
        "TaskHandle": move.handle if move.status == "RUNNING" else None,
        "Status": move.status,
        "SourceArn": asked.arn(asked.name),
        "DestinationArn": None if move.destination is None else asked.arn(move.destination),
        "MaxNumberOfMessagesPerSecond": move.rate,
        "ApproximateNumberOfMessagesMoved": move.moved,
        "ApproximateNumberOfMessagesToMove": move.total,
        "FailureReason": move.reason,
        "StartedTimestamp": move.started,
    }


def _not_found(parameter: str) -> Fault:
    return Fault(
        "ResourceNotFoundException",
        f"The resource that you specified for the {parameter} parameter doesn't exist.",
    )
