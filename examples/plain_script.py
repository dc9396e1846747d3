"""Ten lines: push some work, handle it, and see what became of it.

python examples/plain_script.py [URL]
"""

import sys

import rowmq


def main(url: str) -> None:
    """Push three e-mails and send them."""
    with rowmq.connect(url) as mq:
        emails = mq.queue("emails")

        @emails.handler
        def send(message: rowmq.ClaimedMessage) -> None:
            print("sending to", message.payload["to"])

        emails.push_many([{"to": name} for name in ("ada", "bob", "cyd")])
        mq.work(stop_when_empty=True, concurrency=1)
        print("done:", emails.stats().done)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///plain_script.db")
