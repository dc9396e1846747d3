"""What the user has told Spark before us: in its files and variables, as Spark's own commands read them."""

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

FILE, LOGGING = "spark-defaults.conf", "log4j2.properties"
_LINE = re.compile(r"\s*([^\s#!=:][^\s=:]*)(?:\s*[=:]\s*|\s+)(.*?)\s*$")


def user_settings() -> dict[str, str]:
    """The settings that a session has from its surroundings, by name; a later source is the stronger one."""
    remote, master = os.environ.get("SPARK_REMOTE"), os.environ.get("MASTER")
    first = {"spark.master": master} if master else {}
    last = {"spark.remote": remote} if remote else {}
    return first | dict(_of_file()) | dict(_of_arguments()) | last


def has_logging(settings: Mapping[str, str]) -> bool:
    """Whether the user has said how Spark logs: in these settings, in a variable or in a file."""
    options = settings.get("spark.driver.extraJavaOptions", ""), os.environ.get("SPARK_SUBMIT_OPTS", "")
    said = "spark.log.level" in settings or any("log4j" in each for each in options)
    return said or (folder() / LOGGING).exists()


def folder() -> Path:
    """Where Spark looks for its configuration."""
    found = os.environ.get("SPARK_CONF_DIR")
    return Path(found) if found else Path(os.environ.get("SPARK_HOME") or _installed()) / "conf"


def _installed() -> Path:
    spec = find_spec("pyspark")
    return Path(spec.origin).parent if spec and spec.origin else Path()


def _of_file() -> Iterator[tuple[str, str]]:
    path = folder() / FILE
    for line in path.read_text(errors="replace").splitlines() if path.is_file() else ():
        if found := _LINE.match(line):
            yield found[1], found[2]


def _of_arguments() -> Iterator[tuple[str, str]]:
    """What PYSPARK_SUBMIT_ARGS says."""
    words = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    for option, value in pairwise(words):
        if option == "--conf":
            key, _, said = value.partition("=")
            yield key, said
        elif option == "--master":
            yield "spark.master", value
