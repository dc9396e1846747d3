"""The basic set-up: push with a delay, pull by hand, a worker, an observer, a cleaner.

python examples/gqs_basic.py [URL]
"""

import sys
import time

import rowmq

ALL = 4
"""How many of the messages can be done."""


def by_hand(jobs: rowmq.QueueHandle) -> None:
    """Pull messages and say what became of each."""
    jobs.push_many(["complete me", "return me", "kill me"])
    for message in jobs.claim(limit=10, lease=5):
        match message.payload:
            case "complete me":
                message.extend(60)
                message.ack()
            case "return me":
                message.retry(after=0.2, error="the printer is out of paper")
            case _:
                message.kill("nobody can do this")
        print("pulled:", message.payload)


def at_work(mq: rowmq.Client, jobs: rowmq.QueueHandle) -> None:
    """Let a worker do the rest; it keeps the leases, retries what fails and gives up on what cannot be."""

    @jobs.handler
    def work(message: rowmq.ClaimedMessage) -> None:
        print(f"attempt {message.attempt}: {message.payload}")
        if message.payload == "flaky" and message.attempt == 1:
            raise ConnectionError("no route")
        if message.payload == "hopeless":
            raise rowmq.Kill("no such user")

    jobs.push_many(["flaky", "hopeless"])
    jobs.push("delayed", delay=0.3)
    worker = mq.worker(concurrency=1, buffer=10, batch=5, poll=0.1, lease=2)
    worker.start()
    while jobs.stats().done < ALL:
        time.sleep(0.05)
    worker.stop(timeout=5)


def observed(mq: rowmq.Client, jobs: rowmq.QueueHandle) -> None:
    """Look at what became of everything."""
    for record in jobs.find(limit=100):
        print(f"{record.state}: {record.payload}, {record.attempts} attempts")
    for record in jobs.find(state="dead"):
        print(f"{record.payload} is dead:", mq.failures(record.id)[-1].error)


def main(url: str) -> None:
    """Do everything once."""
    with rowmq.connect(url) as mq:
        jobs = mq.queue("jobs", max_attempts=5, lease=30, backoff={"first": 0.1, "factor": 2, "cap": 60})
        by_hand(jobs)
        at_work(mq, jobs)
        observed(mq, jobs)
        print("cleaned:", jobs.purge(state="done"), "done,", jobs.purge(state="dead"), "dead")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///gqs_basic.db")
