from __future__ import annotations

import inspect

from rowmq.core import errors
from rowmq.core.errors import QueueNotFound, RowMQError


def drawn(tree: str) -> list[tuple[int, str]]:
    """Read the depth and the name of each class from the lines of the drawing."""
    lines = [line for line in tree.splitlines() if line.lstrip(" │").startswith(("├", "└", "RowMQError"))]
    return [((len(line) - len(line.lstrip(" │├└─"))) // 4, line.lstrip(" │├└─").split()[0]) for line in lines]


def actual(root: type[Exception], depth: int = 1) -> list[tuple[int, str]]:
    """Walk the classes in the order they are written."""
    below = [each for child in root.__subclasses__() for each in actual(child, depth + 1)]
    return [(depth, root.__name__), *below]


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes() -> None:
    assert drawn(errors.__doc__ or "") == actual(RowMQError)


def test_every_error_of_the_module_is_in_the_tree() -> None:
    written = [name for name, _ in inspect.getmembers(errors, inspect.isclass)]
    assert sorted(written) == sorted(name for _, name in actual(RowMQError))


def test_every_error_says_what_it_means() -> None:
    assert all(getattr(errors, name).__doc__ for _, name in actual(RowMQError))


def test_an_unknown_queue_is_named() -> None:
    error = QueueNotFound("it's")
    assert error.name == "it's"
    assert '"it\'s"' in str(error)
