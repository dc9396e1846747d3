"""Many clients at once: nothing is lost, repeated or out of order."""

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

GROUPS, EACH, CLIENTS = 5, 20, 6


class Taken:
    """What was received, in the order in which it was."""

    def __init__(self, expected: int) -> None:
        self.bodies: list[str] = []
        self._lock, self._expected = Lock(), expected

    @property
    def complete(self) -> bool:
        return len(self.bodies) >= self._expected

    def add(self, body: str) -> None:
        with self._lock:
            self.bodies.append(body)


def send(sqs: Any, queue: str, group: int, *, fifo: bool) -> None:
    for start in range(0, EACH, 10):
        entries = [{"Id": str(n), "MessageBody": f"{group}:{n}"} for n in range(start, start + 10)]
        if fifo:
            entries = [
                {**each, "MessageGroupId": str(group), "MessageDeduplicationId": each["MessageBody"]}
                for each in entries
            ]
        assert len(sqs.send_message_batch(QueueUrl=queue, Entries=entries)["Successful"]) == 10


def work(sqs: Any, queue: str, taken: Taken) -> None:
    while not taken.complete:
        got = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=7, WaitTimeSeconds=1).get(
            "Messages", []
        )
        for message in got:
            taken.add(message["Body"])
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])


def crowd(sqs: Any, queue: str, *, fifo: bool) -> list[str]:
    """Let some send and others receive at the same time; what came, in order."""
    taken = Taken(GROUPS * EACH)
    with ThreadPoolExecutor(GROUPS + CLIENTS) as clients:
        done = [clients.submit(work, sqs, queue, taken) for _ in range(CLIENTS)]
        done += [clients.submit(send, sqs, queue, group, fifo=fifo) for group in range(GROUPS)]
        for each in done:
            each.result()
    return taken.bodies


def test_in_a_crowd_each_message_comes_once(sqs: Any, queue: str) -> None:
    expected = [f"{group}:{n}" for group in range(GROUPS) for n in range(EACH)]
    assert sorted(crowd(sqs, queue, fifo=False)) == sorted(expected)


def test_in_a_crowd_every_group_keeps_its_order(sqs: Any, fifo: str) -> None:
    groups: dict[str, list[int]] = defaultdict(list)
    for body in crowd(sqs, fifo, fifo=True):
        group, _, number = body.partition(":")
        groups[group].append(int(number))
    assert groups == {str(group): list(range(EACH)) for group in range(GROUPS)}
