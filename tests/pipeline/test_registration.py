"""Spark finds the format by itself, and who cannot use it is told why in one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

import rowmq
from rowmq.core.errors import MissingDependency
from rowmq.pipeline import register
from rowmq.pipeline.session import check_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = Path(__file__).parents[2]
RUN = "from rowmq.pipeline import session; session()"


def run(code: str, *, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program to which the packages in a folder come first."""
    folders = [str(each) for each in (path, FOLDER) if each is not None]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def java(folder: Path, version: str) -> str:
    """A Java of another version, in a folder to look for programs in."""
    program = folder / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2018-10-16' >&2\n")
    program.chmod(0o755)
    return str(folder)


def test_the_module_that_spark_looks_for_has_the_source() -> None:
    ended = run("import pyspark_rowmq; print(pyspark_rowmq.DefaultSource.name())")
    assert (ended.stdout, ended.stderr) == ("rowmq\n", "")


def test_the_module_that_spark_looks_for_never_raises(tmp_path: Path) -> None:
    (tmp_path / "pyarrow").mkdir()
    (tmp_path / "pyarrow" / "__init__.py").write_text("raise RuntimeError('broken')\n")
    ended = run("import pyspark_rowmq; print(hasattr(pyspark_rowmq, 'DefaultSource'))", path=tmp_path)
    assert (ended.stdout, ended.stderr) == ("False\n", "")


def test_importing_rowmq_does_not_import_spark() -> None:
    heavy = "pyspark", "pyarrow", "pandas", "numpy", "connectorx", "adbc_driver_postgresql"
    ended = run(
        f"import sys, rowmq, rowmq.pipeline; print([name for name in {heavy} if name in sys.modules])"
    )
    assert ended.stdout == "[]\n", ended.stderr


def test_a_session_can_be_told_of_the_format_again(spark: SparkSession, sqlite_url: str) -> None:
    rowmq.connect(sqlite_url).close()
    register(spark)
    assert spark.read.format("rowmq").option("url", sqlite_url).load().count() == 0


def test_without_pyspark_one_sentence_says_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "pyspark.py").write_text("raise ModuleNotFoundError(name='pyspark')\n")
    ended = run(RUN, path=tmp_path)
    last = ended.stderr.strip().splitlines()[-1]
    assert last.endswith(
        "MissingDependency: this needs Spark, and pyspark is not installed: pip install 'rowmq[spark]'"
    )


def test_a_pyspark_that_is_too_old_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pyspark.py").write_text("__version__ = '3.5.1'\n")
    last = run(RUN, path=tmp_path).stderr.strip().splitlines()[-1]
    assert "needs pyspark 4.2 or newer, and 3.5.1 is installed: pip install 'rowmq[spark]'" in last


def test_without_java_one_sentence_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDependency, match=r"none was found: install Java 17 or newer \(on Debian: apt"):
        check_java()


@pytest.mark.parametrize(("version", "said"), [("11.0.2", "11"), ("1.8.0_302", "8")])
def test_a_java_that_is_too_old_is_refused(
    version: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", java(tmp_path, version))
    with pytest.raises(
        MissingDependency, match=f"needs Java 17 or newer, and .*java is {said}: install Java"
    ):
        check_java()


def test_a_java_that_does_not_answer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java(tmp_path, "17")
    (tmp_path / "java").write_text("#!/bin/sh\nexit 1\n")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(MissingDependency, match="none was found"):
        check_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDependency, match="is no Java that works: install Java 17"):
        check_java()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"queue": "nobody"}, "there is no queue 'nobody'; create it first"),
        ({"qeue": "jobs"}, "rowmq has no option qeue here; there are url, urlEnv, queue"),
        ({"topic": "t", "subscription": "jobs"}, "the queue 'jobs' is not bound to the topic 't'; bind it"),
        ({"payloadSchema": "infer"}, "no message in the store shows what the payload looks like"),
    ],
    ids=str,
)
def test_spark_passes_on_what_is_wrong_with_a_read(
    options: dict[str, str], sentence: str, spark: SparkSession, sqlite_url: str
) -> None:
    with rowmq.connect(sqlite_url) as mq:
        mq.queue("jobs")
    with pytest.raises(PySparkException) as refused:
        spark.read.format("rowmq").option("url", sqlite_url).options(**options).load().collect()
    assert sentence in str(refused.value)


def test_spark_passes_on_that_a_schema_does_not_fit(spark: SparkSession, sqlite_url: str) -> None:
    rowmq.connect(sqlite_url).close()
    reader = spark.read.format("rowmq").option("url", sqlite_url)
    with pytest.raises(PySparkException, match="the column seq is bigint, not string; ask for that type"):
        reader.schema("seq string").load().collect()


def test_a_file_that_is_not_there_is_not_made(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match="there is no file"):
        spark.read.format("rowmq").option("url", f"sqlite:///{tmp_path}/missing.db").load().collect()
    assert list(tmp_path.iterdir()) == []
