"""`make demo`, with fewer messages."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.demo import main

ROOT = Path(__file__).parents[2]


def test_the_demo_accounts_for_every_message_it_has_pushed(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = main(tmp_path, 200, spark)
    said = capsys.readouterr().out
    assert "worked on: 792 done, 8 dead" in said
    assert "a stream handled them: 980 done, 20 dead, 980 bills" in said
    assert "audited: 800 archived, 0 owed, 0 missing, 0 double" in said
    assert "audited: 2,780 archived, 0 owed, 0 missing, 0 double" in said
    total = json.loads((path.parent / "tables/total.json").read_text())[0]
    assert (total["pushed"], total["done"], total["dead"]) == (2780, 2752, 28)
    assert str(path) in said


@pytest.mark.soak
@pytest.mark.xdist_group("spark")
def test_the_whole_demo_ends_well_in_less_than_three_minutes(tmp_path: Path) -> None:
    began = time.monotonic()
    command = [sys.executable, "examples/demo.py", str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    took = time.monotonic() - began
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert "audited: 21,980 archived, 0 owed, 0 missing, 0 double" in ran.stdout
    assert (tmp_path / "report" / "report.html").exists()
    assert took < 180
