"""The Python in docs/spark.md runs, from the first block to the last."""

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

DOCUMENT = Path(__file__).parents[2] / "docs" / "spark.md"


def test_the_python_of_the_page_about_spark_runs(
    spark: SparkSession, tmp_path: Path, sqlite_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "\n".join(re.findall(r"```py\n(.*?)```", DOCUMENT.read_text(), re.DOTALL))
    code = code.replace("sqlite:///jobs.db", sqlite_url).replace('"checkpoint"', repr(str(tmp_path / "c")))
    exec(compile(code, str(DOCUMENT), "exec"), {"__name__": "__main__"})  # noqa: S102 - our own document
    assert capsys.readouterr().out.splitlines()[:2] == ["7425.0", "100 100"]
