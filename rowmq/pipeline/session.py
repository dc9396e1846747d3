"""A Spark session: the user's own, or a quick local one with quiet defaults."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from rowmq.core.errors import MissingDependency
from rowmq.pipeline.quiet import quietly

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_SPARK = (4, 2)
OLDEST_JAVA = 17
QUICK = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.streaming.metricsEnabled": "false",
}
"""What a session on one machine has instead of a cluster's defaults: no web server, small shuffles."""
ALWAYS = {"spark.sql.session.timeZone": "UTC"}
"""What everything here counts on."""


def session(master: str | None = None, *, name: str = "rowmq", **settings: str) -> "SparkSession":
    """The session that is active, or a new one: local with quick defaults unless a master is given.

    ``settings`` are Spark's own, with ``_`` for ``.`` where a name has no dot; a master, and settings of a
    session that is active already, stay as they are. Raises MissingDependency if Spark or Java is missing or
    too old.
    """
    check_spark()
    from pyspark.sql import SparkSession  # noqa: PLC0415 - not for everybody who imports us

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    local = master is None or master.startswith("local")
    if local:
        check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise the python3 of PATH, without us
    builder = SparkSession.builder.appName(name)
    given = {_named(key): value for key, value in settings.items()}
    for key, value in ((QUICK if local else {}) | ALWAYS | given).items():
        builder = builder.config(key, value)
    if master is not None and master.startswith("sc://"):
        return builder.remote(master).getOrCreate()
    with quietly(given) if local else nullcontext():
        made = builder.master(master or "local[*]").getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


def _named(key: str) -> str:
    """A setting's name as Spark has it: one with dots is whole, and may have underscores of its own."""
    return key if "." in key else key.replace("_", ".")


def check_spark() -> None:
    """Raise MissingDependency unless a pyspark that is new enough is installed."""
    try:
        import pyspark  # noqa: PLC0415 - the question is whether it is there
    except ModuleNotFoundError:
        raise MissingDependency(
            "this needs Spark, and pyspark is not installed: pip install 'rowmq[spark]'"
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
