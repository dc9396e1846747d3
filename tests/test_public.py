"""What users import."""

import inspect
import subprocess
import sys

import rowmq
from rowmq.core import errors


def test_the_public_names_are_sorted_and_are_all_there() -> None:
    assert rowmq.__all__ == sorted(rowmq.__all__)
    public = {
        name
        for name, value in vars(rowmq).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert public == set(rowmq.__all__)


def test_every_error_of_the_tree_is_public() -> None:
    tree = {name for name, value in vars(errors).items() if inspect.isclass(value)}
    assert tree <= set(rowmq.__all__)


def test_every_public_name_has_a_docstring() -> None:
    bare = [name for name in rowmq.__all__ if name != "Where" and not getattr(rowmq, name).__doc__]
    assert bare == []


def test_sqlite_and_memory_need_no_driver_installed() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = sys.modules['pymysql'] = None\n"
        "import rowmq; rowmq.connect('sqlite://').queue('q'); rowmq.connect('memory://')\n"
        "try: rowmq.connect('postgresql://x/y')\n"
        "except rowmq.StoreUnavailable as error: print(error)\n"
        "print(len(rowmq.schema('postgresql')) > 1000)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.stdout.splitlines() == [
        "postgresql needs a driver that is not installed; run: pip install 'rowmq[postgres]'",
        "True",
    ], ran.stderr


def test_ids_sort_by_the_time_they_were_made() -> None:
    ids = [rowmq.new_id() for _ in range(10_000)]
    assert ids == sorted(set(ids))
    assert {id.version for id in ids} == {7}
