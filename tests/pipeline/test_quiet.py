"""What a local Spark says when it starts is left out; everything else that it says is not."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from rowmq.doors.cli import cli
from rowmq.pipeline.quiet import LOGGING, quietly

if TYPE_CHECKING:
    from pathlib import Path

SAID = """echo 'WARNING: Using incubator modules: jdk.incubator.vector' >&2
echo 'Setting default log level to "WARN".' >&2
echo "no space left: $SPARK_LOCAL_IP $SPARK_SUBMIT_OPTS" >&2"""
OURS = f"-Dlog4j2.configurationFile={LOGGING.as_uri()}"
COMMANDS = ("archive", "report", "replay", "audit", "spark-work")


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SPARK_LOCAL_IP", "SPARK_SUBMIT_OPTS", "SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)


def started(**settings: str) -> None:
    """Start a process as Spark's is started, which says much and then fails."""
    with pytest.raises(subprocess.CalledProcessError), quietly(settings):
        subprocess.run(["/bin/sh", "-c", f"{SAID}; exit 1"], check=True)


def test_what_nobody_can_use_is_left_out_and_the_rest_is_not(capfd: pytest.CaptureFixture[str]) -> None:
    started()
    assert capfd.readouterr().err == f"no space left: 127.0.0.1 {OURS}\n"
    assert "SPARK_LOCAL_IP" not in os.environ
    assert "SPARK_SUBMIT_OPTS" not in os.environ


def test_what_the_user_has_set_stays(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "10.0.0.7")
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Xmx1g")
    started()
    assert capfd.readouterr().err == f"no space left: 10.0.0.7 -Xmx1g {OURS}\n"
    assert os.environ["SPARK_SUBMIT_OPTS"] == "-Xmx1g"
    (tmp_path / "log4j2.properties").touch()
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    started()
    assert capfd.readouterr().err == "no space left: 10.0.0.7 -Xmx1g\n"


def test_logging_that_was_set_for_the_session_stays(capfd: pytest.CaptureFixture[str]) -> None:
    started(**{"spark.driver.extraJavaOptions": "-Dlog4j2.configurationFile=mine"})
    assert capfd.readouterr().err == "no space left: 127.0.0.1 \n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_on_spark_takes_a_master_a_period_a_queue_and_a_dry_run(command: str) -> None:
    options = {name for each in cli.commands[command].params for name in each.opts}
    assert {"--master", "--conf", "--since", "--until", "--queue", "--dry-run", "--json"} <= options
