"""The command line, run as a user runs it."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest


def rowmq(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "rowmq"), *arguments]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, timeout=60, env=environment
    )


def test_migrate_makes_the_tables_of_the_default_store_once(tmp_path: Path) -> None:
    first = rowmq("migrate", cwd=tmp_path)
    assert (first.returncode, first.stdout) == (
        0,
        "ran 0001_tables, 0002_publish, 0003_runtime, 0004_stages, 0005_samples, 0006_failures\n",
    ), first.stderr
    assert (tmp_path / "rowmq.db").exists()
    assert rowmq("migrate", cwd=tmp_path).stdout == "the tables are up to date\n"
    assert json.loads(rowmq("migrate", "--json", cwd=tmp_path).stdout) == {"migrations": []}


def test_migrate_print_prints_sql_that_makes_the_tables_and_runs_none(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/q.db"
    printed = rowmq("migrate", "--print", cwd=tmp_path, ROWMQ_URL=url)
    connection = sqlite3.connect(tmp_path / "q.db")
    assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    connection.executescript(printed.stdout)
    assert connection.execute("SELECT count(*) FROM rowmq_pending").fetchone() == (0,)
    connection.close()


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql", "mysql"])
def test_schema_prints_the_tables_a_view_or_what_drops_them(dialect: str, tmp_path: Path) -> None:
    assert "rowmq_pending" in rowmq("schema", "--dialect", dialect, cwd=tmp_path).stdout
    assert "DROP TABLE" in rowmq("schema", "--dialect", dialect, "--drop", cwd=tmp_path).stdout
    shown = rowmq("schema", "--dialect", dialect, "--view", "orders", "--queue", "it's", cwd=tmp_path).stdout
    assert "CREATE VIEW orders" in shown
    assert list(tmp_path.iterdir()) == []


def test_what_drops_the_tables_drops_all_of_them(tmp_path: Path) -> None:
    rowmq("migrate", cwd=tmp_path)
    connection = sqlite3.connect(tmp_path / "rowmq.db")
    connection.executescript(rowmq("schema", "--drop", cwd=tmp_path).stdout)
    left = connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'rowmq%'").fetchall()
    connection.close()
    assert left == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["migrate", "--url", "nonsense"], "this is not a store URL"),
        (["migrate", "--url", "oracle://x"], "no store is called 'oracle'"),
        (["schema", "--view", "x; DROP TABLE y", "--queue", "q"], "a view name is"),
        (["schema", "--view", "x"], "go together"),
        (["schema", "--dialect", "oracle"], "is not one of"),
        (["nonsense"], "No such command"),
    ],
)
def test_bad_arguments_get_one_sentence_and_exit_code_2(
    arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    ran = rowmq(*arguments, cwd=tmp_path)
    assert ran.returncode == 2
    assert sentence in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_store_that_cannot_be_used_is_exit_code_1(tmp_path: Path) -> None:
    ran = rowmq("migrate", "--url", "postgresql://127.0.0.1:1/x", cwd=tmp_path)
    assert ran.returncode == 1
    assert ran.stderr.startswith("rowmq: ")
    assert "Traceback" not in ran.stderr
