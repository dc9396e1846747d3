"""Every store keeps the contract."""

from rowmq.testing.conformance import *  # noqa: F403
from rowmq.testing.conformance import MODULES, __all__


def test_no_two_conformance_tests_have_one_name() -> None:
    assert sum(name.startswith("test_") for module in MODULES for name in vars(module)) == len(__all__)
