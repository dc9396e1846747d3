"""The commands on Spark as processes of their own: what they start, show, and say when Spark cannot start."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import rowmq
from tests.doors.program import environment, process
from tests.pipeline.quick import QUICK
from tests.pipeline.test_archive import finish

ROOT = Path(__file__).parents[2]


def setting(name: str, value: str) -> str:
    """A setting as --conf takes it."""
    return f"{name.replace('_', '.')}={value}"


COMMANDS = {
    "archive": ["--to", "lake"],
    "report": ["--to", "report"],
    "replay": ["--from", "lake", "--queue", "jobs", "--to", "jobs"],
    "audit": [],
    "spark-work": ["tests.pipeline.sample_app:mq"],
    "load": ["--from", "rows.csv", "--queue", "jobs"],
    "export": ["--to", "rows.csv"],
    "import": ["hq", "--from", "sqlite:///hq.db"],
}
LOCAL = ["--master", "local[1]", *(word for pair in QUICK.items() for word in ("--conf", setting(*pair)))]
ALL = """
import json, sys
from rowmq.doors.cli.program import run
for command, options in json.loads(sys.argv[1]).items():
    print(command, run([command, *options]), flush=True)
"""
"""Runs one command after another."""
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
CLEARED = "\x1b[1A\x1b[2K"
"""Up to the bar's line, which is emptied."""
MISSING = "raise ModuleNotFoundError(name=__name__)\n"


def store(folder: Path, count: int = 3) -> str:
    """An SQLite store with so many finished messages."""
    url = f"sqlite:///{folder / 'jobs.db'}"
    with rowmq.connect(url) as mq:
        finish(mq.queue("jobs"), *range(count))
    return url


@pytest.mark.xdist_group("spark faults")
@pytest.mark.timeout(300)
def test_a_command_starts_spark_archives_and_says_nothing_but_what_it_did(tmp_path: Path) -> None:
    said = (*LOCAL, "--conf", "spark.executorEnv.A_B=1", "--to", "lake", "--json")
    with process("archive", *said, folder=tmp_path, ROWMQ_URL=store(tmp_path)) as started:
        out, err = started.communicate(timeout=200)
    assert (started.returncode, err) == (0, "")
    assert (json.loads(out)["rows"], json.loads(out)["pruned"]) == (3, 3)
    assert list(tmp_path.glob("lake/dt=*/queue=jobs/batch=*/*.parquet"))


@pytest.mark.soak
@pytest.mark.xdist_group("spark faults")
def test_a_terminal_is_shown_a_bar_that_goes_away(tmp_path: Path) -> None:
    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "rowmq", "archive", *LOCAL, "--to", "lake"]
    surroundings = environment(ROWMQ_URL=store(tmp_path), TERM="xterm")
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=end, text=True, env=surroundings
    ) as started:
        os.close(end)
        shown = everything(terminal)
        out, _ = started.communicate(timeout=200)
    assert started.returncode == 0, shown
    assert "archived 3 messages to lake" in out
    assert re.search(r"archiving .+ [01]/1 tasks", CONTROL.sub("", shown))  # as many as Spark has
    assert shown.endswith(CLEARED)


def everything(terminal: int) -> str:
    """What is shown until nobody writes to the terminal any more."""
    found = b""
    with suppress(OSError):  # how a terminal ends
        while more := os.read(terminal, 65536):
            found += more
    os.close(terminal)
    return found.decode()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a store, and with one for modules and programs that come before the installed ones."""
    store(tmp_path)
    (tmp_path / "first").mkdir()
    return tmp_path


def refusals(place: Path, **surroundings: str) -> list[str]:
    """What all commands say, one after another, and how they end."""
    path = os.pathsep.join([str(place / "first"), str(ROOT)])
    known = environment(ROWMQ_URL=f"sqlite:///{place / 'jobs.db'}", PYTHONPATH=path) | surroundings
    known.pop("JAVA_HOME", None)
    ran = subprocess.run(
        [sys.executable, "-c", ALL, json.dumps(COMMANDS)],
        cwd=place, env=known, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    return ran.stdout.splitlines()


def everywhere(sentence: str) -> list[str]:
    """The same sentence, and the same code, of every command."""
    return [line for command in COMMANDS for line in (f"rowmq: {sentence}", f"{command} 1")]


def test_without_spark_every_command_says_what_to_install(place: Path) -> None:
    for name in ("pyspark", "pyarrow"):
        (place / "first" / f"{name}.py").write_text(MISSING)
    sentence = "this needs Spark, and pyspark is not installed: pip install 'rowmq[spark]'"
    assert refusals(place) == everywhere(sentence)
    (place / "first" / "pyspark.py").write_text("__version__ = '4.2.0'\n")
    assert refusals(place) == everywhere(sentence.replace("pyspark", "pyarrow"))


def test_every_command_refuses_a_spark_that_is_too_old(place: Path) -> None:
    (place / "first" / "pyspark.py").write_text("__version__ = '3.5.1'\n")
    sentence = "this needs pyspark 4.2 or newer, and 3.5.1 is installed: pip install 'rowmq[spark]'"
    assert refusals(place) == everywhere(sentence)


def test_without_java_every_command_says_what_to_install(place: Path) -> None:
    found = refusals(place, PATH=str(place / "first"))
    assert found == everywhere(
        "Spark runs on Java, and none was found: install Java 17 or newer"
        " (on Debian: apt install default-jre-headless), or set JAVA_HOME"
    )
