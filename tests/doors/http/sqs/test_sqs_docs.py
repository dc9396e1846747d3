"""docs/sqs.md: every block of code in it runs against a server and does what it says."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rowmq.doors.http.sqs.actions import ACTIONS
from rowmq.doors.http.sqs.topic_actions import TOPIC_ACTIONS
from rowmq.runtime.client import connect
from tests.doors.http.sqs.programs import ENVIRONMENT, found, printed
from tests.doors.http.sqs.serving import serving
from tests.servers import ServerMissingError, skip_or_fail

ROOT = Path(__file__).parents[4]
TEXT = (ROOT / "docs/sqs.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)
PATIENCE = 60


def block(language: str, with_: str) -> str:
    """The block in a language that has these words."""
    (found,) = [code for kind, code in BLOCKS if kind == language and with_ in code]
    return str(found)


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[str]:
    with connect(f"sqlite:///{tmp_path / 'jobs.db'}") as mq, serving(mq) as url:
        yield url


def here(code: str, endpoint: str) -> str:
    """The code, pointed at the test's server."""
    host = endpoint.partition("//")[2]
    return code.replace("localhost:9999", host)


def test_boto3_and_python_use_the_same_queue(
    endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in (block("py", "boto3.client"), block("py", "rowmq.connect")):
        exec(compile(here(code, endpoint), "docs/sqs.md", "exec"), names)  # noqa: S102 - our own document
    assert capsys.readouterr().out.splitlines() == [
        '{"to": "ada@example.com"}',
        "{'to': 'grace@example.com'} en",
    ]


def test_the_command_and_the_script_do_what_they_say(endpoint: str, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        skip_or_fail(ServerMissingError("node is not installed"))
    aws = found(ENVIRONMENT / "bin" / "aws")
    modules = found(ENVIRONMENT / "javascript" / "node_modules")
    printed([aws, "--endpoint-url", endpoint, "sqs", "create-queue", "--queue-name", "emails"], tmp_path)
    commands = here(block("sh", "send-message"), endpoint)
    path = f"{ENVIRONMENT / 'bin'}{os.pathsep}{os.environ['PATH']}"
    assert '"Body": "hello"' in printed(["sh", "-ec", commands], tmp_path, PATH=path)
    script = tmp_path / "script.cjs"
    script.write_text(here(block("js", "SQSClient"), endpoint))
    assert printed([node, script], tmp_path, NODE_PATH=str(modules)) == "hello\n"


def test_celery_runs_the_task(endpoint: str, tmp_path: Path) -> None:
    code = here(block("py", "Celery("), endpoint) + f"\napp.conf.result_backend = 'file://{tmp_path}'\n"
    (tmp_path / "tasks.py").write_text(code)
    worker = subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "tasks", "worker", "--pool", "solo", "--loglevel", "ERROR"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        ask = f"from tasks import add; print(add.delay(1, 2).get(timeout={PATIENCE}))"
        assert printed([sys.executable, "-c", ask], tmp_path) == "3\n"
    finally:
        worker.terminate()
        worker.wait(PATIENCE)


def test_the_document_says_how_many_operations_there_are_and_names_those_of_topics() -> None:
    assert f"All {len(ACTIONS)} operations" in TEXT
    text = TEXT.replace(
        "Get- and SetSubscriptionAttributes", "GetSubscriptionAttributes SetSubscriptionAttributes"
    )
    assert [name for name in TOPIC_ACTIONS if name not in text] == []
