"""For tests: of code that uses RowMQ, and of stores.

Of your own code: a client on a store in memory whose clock you move, messages handled without threads, and
assertions about what was pushed; pytest has the fixtures ``rowmq_client`` and ``rowmq_clock``.

>>> from rowmq import testing
>>> clock = testing.Clock()
>>> mq = testing.connect(clock)
>>> @mq.handler("emails")
... def send(message):
...     print("to", message.payload["to"])
>>> id = mq.queue("emails").push({"to": "ada@example.com"}, delay=60)
>>> testing.drain(mq)
[]
>>> moment = clock.move(60)
>>> [ran] = testing.drain(mq)
to ada@example.com

Of a store outside this package: it is held to the contract by two things in its tests, a fixture ``store``
that yields a fresh, empty, migrated store, and a test file that says
``from rowmq.testing.conformance import *``.
"""

import sys

if "pytest" in sys.modules:  # users' tests may be of another kind; only the conformance suite needs pytest
    sys.modules["pytest"].register_assert_rewrite("rowmq.testing.build", "rowmq.testing.conformance")

from rowmq.testing.client import connect
from rowmq.testing.clock import Clock
from rowmq.testing.draining import Ran, drain
from rowmq.testing.inlining import inline
from rowmq.testing.pushed import assert_nothing_pushed, assert_pushed

__all__ = ["Clock", "Ran", "assert_nothing_pushed", "assert_pushed", "connect", "drain", "inline"]
