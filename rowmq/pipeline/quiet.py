"""Starting Spark on this machine without what it says on every start and nobody can use."""

import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rowmq.pipeline.defaults import has_logging

LOGGING = Path(__file__).with_name("log4j2.properties")
NOISE = re.compile(
    rb"WARNING: Using incubator modules: |Setting (default|Spark) log level to |To adjust logging level "
)
"""What no setting of logging silences: the JVM and Spark print it themselves."""
ERRORS = 2
"""The file descriptor of standard error."""
DRAIN = 5.0
"""Seconds to wait for the last words of a JVM that did not start."""


@contextmanager
def quietly(settings: Mapping[str, str]) -> Iterator[None]:
    """Let a JVM that is started inside log errors only, and leave its start-up lines out.

    A configuration of logging that the user has stays in force.
    """
    added = {
        "SPARK_LOCAL_IP": os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
    }  # else it warns about the host's name
    if not has_logging(settings):
        said = f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} -Dlog4j2.configurationFile={LOGGING.as_uri()}"
        added["SPARK_SUBMIT_OPTS"] = said.strip()
    with _environment(added), _filtered():
        yield


def relay(source: int, target: int) -> None:
    """Copy lines, but those that are noise, until there are no more."""
    with os.fdopen(source, "rb") as lines:
        for line in lines:
            if not NOISE.match(line):
                os.write(target, line)
    os.close(target)


@contextmanager
def _environment(added: Mapping[str, str]) -> Iterator[None]:
    """Variables for the JVM alone: a session on a cluster later must not have them."""
    former = {name: os.environ.get(name) for name in added}
    os.environ.update(added)
    try:
        yield
    finally:
        for name, value in former.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _filtered() -> Iterator[None]:
    """Have processes that are started inside write their errors through :func:`relay`."""
    source, writing = os.pipe()
    real = os.dup(ERRORS)
    relaying = threading.Thread(target=relay, args=(source, os.dup(real)), name="rowmq-spark", daemon=True)
    relaying.start()
    os.dup2(writing, ERRORS)
    os.close(writing)
    try:
        yield
    except BaseException:
        _put_back(real)
        relaying.join(DRAIN)  # what it said last is why it did not start
        raise
    _put_back(real)


def _put_back(real: int) -> None:
    os.dup2(real, ERRORS)
    os.close(real)
