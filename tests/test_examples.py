"""The examples run as they stand, and print what they promise."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
PROMISED = {
    "plain_script": ["sending to ada", "sending to bob", "sending to cyd", "done: 3"],
    "gq_email_deadline": [
        "asked for a code: 1111",
        "  the mail server does not answer",
        "asked for a code: 2222",
        "  sent 2222 to ada@example.com",
        "1111: dead (expired)",
        "2222: done",
    ],
    "gqs_basic": [
        "pulled: complete me",
        "pulled: return me",
        "pulled: kill me",
        "attempt 1: flaky",
        "attempt 2: flaky",
        "done: complete me, 1 attempts",
        "done: return me, 2 attempts",
        "dead: kill me, 1 attempts",
        "done: flaky, 2 attempts",
        "dead: hopeless, 1 attempts",
        "done: delayed, 1 attempts",
        "kill me is dead: nobody can do this",
        "hopeless is dead: no such user",
        "cleaned: 4 done, 2 dead",
    ],
    "pgq_publish_consume": [
        "published: 5",
        "order 0 from web-1, attempt 1",
        "order 1 from web-1, attempt 1",
        "order 2 from web-1, attempt 1",
        "order 2 from web-1, attempt 2",
        "order 2 from web-1, attempt 3",
        "done 2, dead 2, left alone 1, junk 1",
    ],
}


@pytest.fixture(params=["sqlite", "postgres", "default"])
def arguments(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """What an example is given: the URL of an empty store, or nothing."""
    if request.param == "postgres":
        return [str(request.getfixturevalue("postgres_url"))]
    return [f"sqlite:///{tmp_path}/example.db"] if request.param == "sqlite" else []


def test_every_example_that_runs_to_an_end_is_run_here() -> None:
    scripts = {path.stem for path in EXAMPLES.glob("*.py") if "def main(url: str)" in path.read_text()}
    assert scripts == set(PROMISED)


@pytest.mark.parametrize("name", PROMISED)
def test_an_example_prints_what_it_promises(name: str, arguments: list[str], tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr
    printed = [line.rstrip() for line in run.stdout.splitlines()]
    first_seen = [line for line in dict.fromkeys(printed) if line in PROMISED[name]]
    assert sorted(first_seen) == sorted(PROMISED[name]), run.stdout
    assert first_seen[-1] == PROMISED[name][-1]
