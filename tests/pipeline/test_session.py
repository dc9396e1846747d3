"""A session: what RowMQ sets, and what of the user's it leaves alone."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from rowmq.pipeline.session import QUICK, session
from tests.pipeline.test_registration import java

if TYPE_CHECKING:
    from pathlib import Path

UTC = {"spark.sql.session.timeZone": "UTC", "spark.app.name": "rowmq"}
SURROUNDINGS = (
    "MASTER", "SPARK_HOME", "SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS", "PYSPARK_PYTHON", "SPARK_SUBMIT_OPTS",
)  # fmt: skip


class Builder:
    """Spark's own, as far as it is asked: remembers its settings and starts nothing."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}

    def appName(self, name: str) -> Builder:  # noqa: N802 - Spark's name
        return self.config("spark.app.name", name)

    def config(self, key: str, value: str) -> Builder:
        self.settings[key] = value
        return self

    def getOrCreate(self) -> Any:  # noqa: N802 - Spark's name
        return self.settings


class Spark:
    """Spark's SparkSession, without a JVM: whoever asks gets a builder of his own."""

    @property
    def builder(self) -> Builder:
        return Builder()

    def getActiveSession(self) -> None:  # noqa: N802 - Spark's name
        return None


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of Spark's configuration, with nothing in it and nothing said elsewhere."""
    for name in SURROUNDINGS:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "conf").mkdir()
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (tmp_path / "bin").mkdir()
    java(tmp_path / "bin", "17.0.1")
    monkeypatch.setattr("pyspark.sql.SparkSession", Spark())
    return tmp_path / "conf"


def made(master: str | None = None, **settings: str) -> dict[str, str]:
    """What Spark is told."""
    found: Any = session(master, **settings)
    return dict(found)


@pytest.mark.usefixtures("conf")
def test_a_session_of_which_nothing_is_said_is_local_quick_quiet_and_in_utc() -> None:
    assert made() == QUICK | UTC | {"spark.log.level": "ERROR"}
    assert (QUICK["spark.master"], QUICK["spark.ui.enabled"]) == ("local[*]", "false")


@pytest.mark.usefixtures("conf")
def test_executors_run_the_drivers_python_unless_another_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    made()
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    monkeypatch.setenv("PYSPARK_PYTHON", "./environment/bin/python")
    made()
    assert os.environ["PYSPARK_PYTHON"] == "./environment/bin/python"


@pytest.mark.usefixtures("conf")
@pytest.mark.parametrize("master", ["spark://10.0.0.1:7077", "yarn", "k8s://https://cluster:6443"])
def test_a_session_on_a_cluster_is_told_its_master_and_utc_and_nothing_else(master: str) -> None:
    assert made(master) == UTC | {"spark.master": master}
    assert "SPARK_LOCAL_IP" not in os.environ


@pytest.mark.usefixtures("conf")
def test_a_connect_server_is_asked_for_by_its_address() -> None:
    assert made("sc://host:15002") == UTC | {"spark.remote": "sc://host:15002"}


def test_settings_of_spark_defaults_conf_stay(conf: Path) -> None:
    lines = "# mine", "spark.ui.enabled  true", "spark.driver.host=10.0.0.7", "spark.master: local[3]", ""
    (conf / "spark-defaults.conf").write_text("\n".join(lines))
    found = made()
    assert not {"spark.ui.enabled", "spark.driver.host", "spark.master"} & set(found)
    assert found["spark.ui.showConsoleProgress"] == "false"
    assert made("local[1]")["spark.master"] == "local[1]"  # what is asked for here comes before


def test_a_cluster_that_spark_defaults_conf_names_is_used_as_it_is(conf: Path) -> None:
    (conf / "spark-defaults.conf").write_text("spark.master spark://10.0.0.1:7077\n")
    assert made() == UTC


@pytest.mark.usefixtures("conf")
def test_a_master_that_the_surroundings_name_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master yarn --conf spark.ui.port=7 pyspark-shell")
    assert made() == UTC
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.ui.enabled=true pyspark-shell")
    assert "spark.ui.enabled" not in made()
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    assert made() == UTC


def test_logging_that_the_user_has_set_stays(conf: Path) -> None:
    (conf / "log4j2.properties").touch()
    assert "spark.log.level" not in made()


@pytest.mark.usefixtures("conf")
def test_a_setting_with_dots_keeps_its_underscores() -> None:
    said = {"spark.executorEnv.ROWMQ_URL": "x", "spark_sql_shuffle_partitions": "7"}
    found = made(**said)
    assert found["spark.executorEnv.ROWMQ_URL"] == "x"
    assert found["spark.sql.shuffle.partitions"] == "7"


@pytest.mark.usefixtures("conf")
def test_what_is_said_here_comes_before_what_rowmq_would_set() -> None:
    assert made(spark_ui_enabled="true")["spark.ui.enabled"] == "true"
