"""The contract of a store as tests; each takes the fixture ``store``, a fresh and empty one.

``from rowmq.testing.conformance import *`` in a test file runs them all on the store of its fixture.
"""

from importlib import import_module

MODULES = tuple(
    import_module(f"{__name__}.{name}")
    for name in (
        "push",
        "claim",
        "rate",
        "groups",
        "extend",
        "settle",
        "results",
        "delivery",
        "dead_letter",
        "adopt",
        "queues",
        "topics",
        "consumers",
        "schedules",
        "history",
        "sweep",
        "monitor",
        "excerpts",
        "samples",
        "names",
        "concurrency",
        "life",
    )
)
"""The parts of the suite, in the order of the protocol."""

_TESTS = [
    (name, test) for module in MODULES for name, test in vars(module).items() if name.startswith("test_")
]
globals().update(_TESTS)

__all__ = list(dict(_TESTS))
