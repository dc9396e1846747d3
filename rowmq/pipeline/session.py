"""A Spark session: the user's own, or a quick local one with quiet defaults."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rowmq.core.errors import MissingDependency
from rowmq.pipeline.defaults import has_logging, user_settings
from rowmq.pipeline.quiet import quietly

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_SPARK = (4, 2)
OLDEST_JAVA = 17
QUICK = {
    "spark.master": "local[*]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.streaming.metricsEnabled": "false",
}
"""What a session on one machine has instead of a cluster's defaults: no web server, small shuffles."""
ALWAYS = {"spark.sql.session.timeZone": "UTC"}
"""What everything here counts on."""


def session(
    master: str | None = None, *, name: str = "rowmq", log: str = "ERROR", **settings: str
) -> "SparkSession":
    """The session that is active, or a new one: where the user's configuration says, or local and quick.

    ``settings`` are Spark's own, with ``_`` for ``.`` where a name has no dot; ``log`` is the level of a
    local session whose logging the user has not set. Whatever else the user has set stays as it is, and so
    does an active session. Raises MissingDependency if Spark or Java is missing or too old.
    """
    check_spark()
    from pyspark.sql import SparkSession  # noqa: PLC0415 - not for everybody who imports us

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise the python3 of PATH, without us
    given = {_named(key): value for key, value in settings.items()} | _place(master)
    theirs = user_settings() | given
    builder = SparkSession.builder.appName(name)
    for key, value in (ours(theirs, log) | given).items():
        builder = builder.config(key, value)
    if not is_local(theirs):
        return builder.getOrCreate()
    check_java()
    with quietly(theirs):
        return builder.getOrCreate()


def ours(theirs: Mapping[str, str], log: str = "ERROR") -> dict[str, str]:
    """What RowMQ adds to what the user says: UTC, and on this machine quick ones for what he leaves open."""
    if not is_local(theirs):
        return ALWAYS
    quick = QUICK if has_logging(theirs) else QUICK | {"spark.log.level": log}
    return {key: value for key, value in quick.items() if key not in theirs} | ALWAYS


def is_local(theirs: Mapping[str, str]) -> bool:
    """Whether Spark runs on this machine, below this process; it does if nothing is said of it."""
    return "spark.remote" not in theirs and theirs.get("spark.master", "local").startswith("local")


def _place(master: str | None) -> dict[str, str]:
    if master is None:
        return {}
    return {"spark.remote" if master.startswith("sc://") else "spark.master": master}


def _named(key: str) -> str:
    """A setting's name as Spark has it: one with dots is whole, and may have underscores of its own."""
    return key if "." in key else key.replace("_", ".")


def check_spark() -> None:
    """Raise MissingDependency unless a pyspark that is new enough is installed, and Arrow with it."""
    try:
        import pyspark  # noqa: PLC0415 - the question is whether it is there

        importlib.import_module("pyarrow")
    except ModuleNotFoundError as missing:
        raise MissingDependency(
            f"this needs Spark, and {missing.name} is not installed: pip install 'rowmq[spark]'"
        ) from None
    found = tuple(int(part) for part in re.findall(r"\d+", pyspark.__version__)[:2])
    if found < OLDEST_SPARK:
        raise MissingDependency(
            f"this needs pyspark 4.2 or newer, and {pyspark.__version__} is installed:"
            " pip install 'rowmq[spark]'"
        )


def check_java() -> None:
    """Raise MissingDependency unless there is a Java that Spark can run on."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin") if home else None)  # noqa: PTH118 - a search path
    remedy = "install Java 17 or newer (on Debian: apt install default-jre-headless), or set JAVA_HOME"
    if java is None:
        raise MissingDependency(f"Spark runs on Java, and none was found: {remedy}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 - the user's own Java
    version = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    if version is None:
        raise MissingDependency(f"{java} is no Java that works: {remedy}")
    if int(version.group(1)) < OLDEST_JAVA:
        raise MissingDependency(f"Spark needs Java 17 or newer, and {java} is {version.group(1)}: {remedy}")
