"""A verification e-mail that must not arrive after its successor was asked for.

Each code is good until the user may ask for the next one. The queue delivers at most once, so a code that
could not be sent by then is given up, and a code that may have been sent is not sent again.

    python examples/gq_email_deadline.py [URL]
"""

import sys
import time
from datetime import UTC, datetime, timedelta

import rowmq

NEXT_CODE_AFTER = timedelta(seconds=0.6)


class MailServer:
    """A mail server that is down for the first code, and works from the second on."""

    def send(self, mail: dict[str, str]) -> None:
        """Send, or fail as networks do."""
        if mail["code"] == "1111":
            print("  the mail server does not answer")
            raise ConnectionError("no answer")
        print(f"  sent {mail['code']} to {mail['to']}")


def main(url: str) -> None:
    """Ask for a code while the mail server is down, then for another one."""
    with rowmq.connect(url) as mq:
        codes = mq.queue(
            "codes", delivery="at_most_once", max_attempts=None, backoff={"first": 0.2, "factor": 1, "cap": 1}
        )
        with codes.producer() as producer, codes.consumer(batch=10) as consumer:
            for code in ("1111", "2222"):
                print("asked for a code:", code)
                deadline = datetime.now(UTC) + NEXT_CODE_AFTER
                producer.push({"to": "ada@example.com", "code": code}, deadline=deadline)
                work_until(deadline, consumer)
        mq.sweep()
        for record in codes.find():
            print(f"{record.payload['code']}: {record.state}", f"({record.reason})" if record.reason else "")


def work_until(end: datetime, consumer: rowmq.Consumer) -> None:
    """Send what is due until then."""
    server = MailServer()
    while datetime.now(UTC) < end:
        consumer.run(server.send, stop_when_empty=True)
        time.sleep(0.05)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///gq_email_deadline.db")
