"""What a store's own tests need: the conformance suite, and small words to write more like it.

A store outside this package is held to the contract by two things in its tests: a fixture ``store`` that
yields a fresh, empty, migrated store, and a test file that says
``from rowmq.testing.conformance import *``.
"""

import pytest

pytest.register_assert_rewrite("rowmq.testing.build", "rowmq.testing.conformance")
