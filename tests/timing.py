"""A mark for tests of promises in seconds."""

import pytest

timed = pytest.mark.flaky(reruns=2)
"""For what a test says of real seconds, which the machine alone can break when it does something else then.

It is broken when it is broken three times in a row. Only where neither patience nor a clock of the test's own
makes it certain.
"""
