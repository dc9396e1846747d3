"""From MODULE:NAME to a client."""

import importlib
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from rowmq.core.errors import InvalidSetting
from rowmq.runtime.client import Client


def load_client(target: str) -> Client:
    """The client that MODULE:NAME means, or the only one of MODULE. Raises InvalidSetting."""
    module_name, _, name = target.partition(":")
    module = _module(module_name)
    return _named(module, name) if name else _only(module)


def _module(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise InvalidSetting(f"{name!r} is not a module's name; write MODULE:NAME, such as app.jobs:mq")
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as python -m does
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise InvalidSetting(f"there is no module {name!r} in {Path.cwd()} or installed") from None
        raise _broken(name, error) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's module may raise anything
        raise _broken(name, error) from None


def _broken(name: str, error: BaseException) -> InvalidSetting:
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{place.filename}, line {place.lineno}"
    if isinstance(error, SyntaxError):
        where = f"{error.filename}, line {error.lineno}"
    return InvalidSetting(f"module {name!r} cannot be imported: {type(error).__name__}: {error} ({where})")


def _named(module: ModuleType, name: str) -> Client:
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise InvalidSetting(f"module {module.__name__!r} has no {name!r}{_hint(module)}") from None
    if isinstance(found, ModuleType):
        return _only(found)
    if not isinstance(found, Client):
        kind = type(found).__name__
        raise InvalidSetting(
            f"{module.__name__}:{name} is no rowmq client, but of type {kind}{_hint(module)}"
        )
    return found


def _only(module: ModuleType) -> Client:
    clients = _clients(module)
    distinct = {id(client): client for client in clients.values()}
    if len(distinct) == 1:
        return next(iter(distinct.values()))
    if not clients:
        raise InvalidSetting(
            f"module {module.__name__!r} has no rowmq client; make one in it: mq = rowmq.connect()"
        )
    named = ", ".join(f"{module.__name__}:{name}" for name in clients)
    raise InvalidSetting(f"module {module.__name__!r} has several clients; say which: {named}")


def _clients(module: ModuleType) -> dict[str, Client]:
    return {name: value for name, value in vars(module).items() if isinstance(value, Client)}


def _hint(module: ModuleType) -> str:
    names = ", ".join(_clients(module))
    return f"; its clients are {names}" if names else ""
