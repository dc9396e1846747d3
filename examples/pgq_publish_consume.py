"""Publish and consume: injectors, consumer options, and a junk queue for what nobody can read.

python examples/pgq_publish_consume.py [URL]
"""

import sys
import time

import rowmq

CANCELLED, UNPAID = 1, 2


def publish(mq: rowmq.Client, orders: rowmq.QueueHandle) -> None:
    """Publish some orders, each with metadata that is added to everything."""
    mq.use(rowmq.Inject(lambda: {"host": "web-1"}))
    ids = orders.push_many([{"order": number} for number in range(3)], metadata={"kind": "order"})
    orders.push({"order": 3}, metadata={"kind": "test"})
    orders.push({"order": 4}, metadata={"rowmq.task": "shop.unknown"})
    print("published:", len(ids) + 2)


def handle(message: rowmq.ClaimedMessage) -> None:
    """Return to ack, raise Kill to discard, raise anything else to have it come back."""
    order = message.payload["order"]
    print(f"order {order} from {message.metadata['host']}, attempt {message.attempt}")
    if order == CANCELLED:
        raise rowmq.Kill("the order was cancelled")
    if order == UNPAID and not message.last_attempt:
        raise ConnectionError("the bank does not answer")


def unfinished(queue: rowmq.QueueHandle) -> int:
    """How many messages wait, or are in somebody's hands, counted at one moment."""
    stats = queue.stats()
    return stats.ready + stats.scheduled + stats.leased


def main(url: str) -> None:
    """Publish, consume, and count."""
    with rowmq.connect(url) as mq:
        orders = mq.queue("orders", max_attempts=3, backoff={"first": 0.1, "factor": 1, "cap": 1})
        junk = mq.queue("junk")
        publish(mq, orders)
        orders.handler(handle)

        def to_junk(message: rowmq.ClaimedMessage, error: Exception) -> None:
            print("junk:", error)
            junk.push(message.body, metadata={"id": str(message.id), "error": str(error)})

        worker = mq.worker(
            "orders",
            concurrency=1,
            lease=60,
            poll=0.1,
            timeout=30,
            max_age=24 * 3600,
            where=(rowmq.Condition("kind", "!=", ("test",)),),
            on_invalid=to_junk,
        )
        worker.start()
        while unfinished(orders) > 1:  # the test order is left alone
            time.sleep(0.05)
        worker.stop(timeout=5)
        stats = orders.stats()
        print(f"done {stats.done}, dead {stats.dead}, left alone {stats.ready}, junk {junk.stats().ready}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///pgq_publish_consume.db")
