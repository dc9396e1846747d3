"""The examples that need Spark run as they stand."""

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import rowmq

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_notebook_runs_from_top_to_bottom(
    spark: SparkSession, sqlite_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROWMQ_URL", sqlite_url)
    runpy.run_path(str(EXAMPLES / "notebook.py"), run_name="__main__")  # its functions travel by value
    said = capsys.readouterr().out
    assert "pushed: 100" in said
    assert "done: 94 dead: 6\nbills: 94" in said
    assert "6 times: nobody pays <n>" in said
    assert "orders web 34 " in said


@pytest.mark.soak
def test_the_declarative_pipeline_takes_what_has_come_since_the_last_run(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    shutil.copytree(EXAMPLES / "declarative_pipeline", folder)
    spec = folder / "spark-pipeline.yml"
    spec.write_text(
        spec.read_text().replace("storage: storage-root", f"storage: {(folder / 'kept').as_uri()}")
    )
    with rowmq.connect(f"sqlite:///{folder}/orders.db") as mq:
        for run in (1, 2):
            mq.queue("orders").push_many([{"customer": f"c{n % 3}", "amount": 1.5} for n in range(30)])
            _run_pipeline(folder)
            assert mq.queue("orders").stats().done == 30 * run
    kept = subprocess.run(
        [sys.executable, "-c", COUNT, str(folder)], capture_output=True, text=True, check=True, timeout=300
    )
    assert kept.stdout.split() == ["60", "3", "90.0"]


COUNT = """
import sys
import pyarrow.dataset as ds
orders = ds.dataset(sys.argv[1] + "/spark-warehouse/orders", format="parquet").to_table()
customers = ds.dataset(sys.argv[1] + "/spark-warehouse/customers", format="parquet").to_table()
print(orders.num_rows, customers.num_rows, sum(customers["amount"].to_pylist()))
"""


def _run_pipeline(folder: Path) -> None:
    command = [str(Path(sys.executable).parent / "spark-pipelines"), "run", "--remote", "local[2]"]
    environment = os.environ | {
        "ROWMQ_URL": f"sqlite:///{folder}/orders.db",
        "PYSPARK_PYTHON": sys.executable,
    }
    subprocess.run(
        [*command, "--conf", "spark.sql.catalogImplementation=hive"],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        timeout=600,
    )
