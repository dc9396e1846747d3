"""Every public name shows how it is used, and what it shows is true."""

import doctest
import importlib
import inspect
import pkgutil
from enum import Enum
from types import ModuleType

import pytest

import rowmq
import rowmq.runtime
from rowmq import testing


def public() -> dict[str, object]:
    """The names that users import and that can have a docstring of their own."""
    names = {f"rowmq.{name}": getattr(rowmq, name) for name in rowmq.__all__ if name != "Where"}
    return names | {f"rowmq.testing.{name}": getattr(testing, name) for name in testing.__all__}


def is_error(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, rowmq.RowMQError)


def is_enum(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, Enum)


def modules() -> list[ModuleType]:
    """The modules of the runtime, of the testing kit, and of every public name."""
    names = {f"rowmq.runtime.{found.name}" for found in pkgutil.iter_modules(rowmq.runtime.__path__)}
    names |= {str(inspect.getmodule(value).__name__) for value in public().values()}  # type: ignore[union-attr]
    return [importlib.import_module(name) for name in sorted({"rowmq.testing", *names})]


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.__name__)
def test_the_examples_of_a_module_are_true(
    module: ModuleType, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_the_examples_are_found() -> None:
    assert (
        sum(len(test.examples) for module in modules() for test in doctest.DocTestFinder().find(module)) > 100
    )


def test_every_public_class_and_function_has_an_example() -> None:
    bare = [
        name
        for name, value in public().items()
        if not is_error(value) and not is_enum(value) and ">>>" not in (inspect.getdoc(value) or "")
    ]
    assert bare == []


def test_every_enum_says_what_each_of_its_values_means() -> None:
    bare = [
        f"{name}.{member.name}"
        for name, value in public().items()
        if is_enum(value)
        for member in value  # type: ignore[attr-defined]
        if f"``{member.value}``" not in (value.__doc__ or "")
    ]
    assert bare == []


def test_every_error_says_what_happened_and_then_what_to_do() -> None:
    bare = [
        name
        for name, value in public().items()
        if is_error(value) and len((inspect.getdoc(value) or "").split("\n\n")) < 2
    ]
    assert bare == []
