"""rowmq work: a real process, a real module, real signals."""

import json
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from rowmq.runtime.client import connect
from tests.doors.program import Program, finished, process
from tests.servers import free_port

MODULE = """
import os, time
import rowmq

mq = rowmq.connect()
emails = mq.queue("emails")

@emails.handler
def send(message):
    if message.payload == "slow":
        open("began", "w").close()
        time.sleep(1)
    elif message.payload == "hang":
        open("began", "w").close()
        time.sleep(60)
    with open("done", "a") as file:
        file.write(f"{message.payload} {os.getpid()}\\n")

@mq.task(queue="sums")
def add(a, b):
    with open("done", "a") as file:
        file.write(f"{a + b}\\n")
"""


@pytest.fixture
def app(tmp_path: Path) -> Path:
    (tmp_path / "jobs.py").write_text(MODULE)
    return tmp_path


def push(folder: Path, *payloads: object) -> None:
    with connect(f"sqlite:///{folder}/rowmq.db") as client:
        client.queue("emails").push_many(payloads)


def wait_for(path: Path, started: "subprocess.Popen[str]", lines: int = 0) -> None:
    end = time.monotonic() + 30
    while not path.exists() or len(path.read_text().splitlines()) < lines:
        assert started.poll() is None, started.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


def stopped(started: "subprocess.Popen[str]", number: int = signal.SIGTERM) -> tuple[int, str]:
    started.send_signal(number)
    _, err = started.communicate(timeout=30)
    return started.returncode, err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_at_a_signal_running_handlers_finish_and_the_exit_code_is_0(app: Path, number: int) -> None:
    push(app, "slow")
    with process("work", "jobs:mq", folder=app) as started:
        wait_for(app / "began", started)
        code, err = stopped(started, number)
    assert (code, "Traceback" in err) == (0, False), err
    assert (app / "done").read_text().startswith("slow ")
    with connect(f"sqlite:///{app}/rowmq.db") as client:
        stats = client.queue("emails").stats()
    assert (stats.done, stats.leased, stats.ready) == (1, 0, 0)


def test_handlers_that_do_not_finish_in_time_are_exit_code_1(app: Path) -> None:
    push(app, "hang")
    with process("work", "jobs:mq", "--stop-timeout", "200ms", folder=app) as started:
        wait_for(app / "began", started)
        code, err = stopped(started)
    assert code == 1
    assert "rowmq: 1 handlers were still running" in err
    assert "Traceback" not in err


def test_a_module_alone_is_enough_and_it_stops_when_there_is_nothing_left(app: Path) -> None:
    push(app, 1, 2, 3)
    ran = finished("work", "jobs", "--stop-when-empty", "--json", folder=app)
    assert ran.code == 0, ran.err
    assert len((app / "done").read_text().splitlines()) == 3
    events = [json.loads(line)["event"] for line in ran.err.splitlines()]
    assert events[0] == "worker.started"
    assert events[-1] == "worker.stopped"


def test_only_the_queues_that_are_named_are_worked_on(app: Path) -> None:
    push(app, 1)
    ran = finished("work", "jobs:mq", "--queue", "sums", "--stop-when-empty", folder=app)
    assert ran.code == 0, ran.err
    assert not (app / "done").exists()


def test_a_module_without_a_url_gets_the_one_that_is_said(app: Path) -> None:
    url = f"sqlite:///{app}/other.db"
    ran = finished("work", "jobs:mq", "--stop-when-empty", "--url", url, folder=app)
    assert ran.code == 0, ran.err
    assert (app / "other.db").exists()
    assert not (app / "rowmq.db").exists()


def test_several_processes_share_the_work_and_stop_together(app: Path) -> None:
    push(app, *range(50))
    with process(
        "work", "jobs:mq", "--processes", "2", "--batch", "1", "--buffer", "1", folder=app
    ) as started:
        wait_for(app / "done", started, lines=50)
        code, err = stopped(started)
    assert code == 0, err
    assert len((app / "done").read_text().splitlines()) == 50


def test_metrics_are_served_where_they_are_asked_for(app: Path) -> None:
    push(app, 1)
    port = free_port()
    with process("work", "jobs:mq", "--metrics-port", str(port), folder=app) as started:
        wait_for(app / "done", started, lines=1)
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read().decode()
        code, err = stopped(started)
    assert code == 0, err
    assert 'rowmq_claimed_total{queue="emails"} 1.0' in page


def test_what_the_file_and_the_environment_say_counts(app: Path) -> None:
    (app / "rowmq.toml").write_text('[log]\nformat = "json"\n[worker]\nconcurrency = 2\n')
    ran = finished("work", "jobs:mq", "--stop-when-empty", folder=app, ROWMQ_LOG_LEVEL="debug")
    assert ran.code == 0, ran.err
    assert json.loads(ran.err.splitlines()[0])["event"] == "worker.started"
    bad = finished("work", "jobs:mq", folder=app, ROWMQ_WORKER_BATCH="x")
    assert (bad.code, bad.err.startswith("rowmq: ROWMQ_WORKER_BATCH is a whole number")) == (2, True)


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("nowhere:mq", "there is no module 'nowhere' in"),
        ("nowhere.deep:mq", "there is no module 'nowhere.deep' in"),
        ("jobs:nothing", "module 'jobs' has no 'nothing'; its clients are mq"),
        ("jobs:send", "jobs:send is no rowmq client, but of type function; its clients are mq"),
        ("./jobs.py:mq", "'./jobs.py' is not a module's name"),
        (":mq", "'' is not a module's name"),
        ("broken", "module 'broken' cannot be imported: ZeroDivisionError: division by zero"),
        ("syntax", "module 'syntax' cannot be imported: SyntaxError"),
        ("leaves", "module 'leaves' cannot be imported: SystemExit: 5"),
        ("lacks", "module 'lacks' cannot be imported: ModuleNotFoundError: No module named 'numpyy'"),
        ("empty", "module 'empty' has no rowmq client; make one in it"),
        ("two", "module 'two' has several clients; say which: two:a, two:b"),
        ("idle", "there is nothing to work on"),
    ],
)
def test_a_target_that_cannot_be_is_one_sentence_and_exit_code_2(
    target: str, sentence: str, rowmq: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = {
        "jobs": MODULE,
        "broken": "x = 1\ny = x / 0\n",
        "syntax": "def (:\n",
        "leaves": "raise SystemExit(5)",
        "lacks": "import numpyy",
        "empty": "",
        "two": "import rowmq\na = rowmq.connect('memory://')\nb = rowmq.connect('memory://')\n",
        "idle": "import rowmq\nmq = rowmq.connect('memory://')\n",
    }
    for name, text in modules.items():
        (rowmq.folder / f"{name}.py").write_text(text)
    ran = finished("work", target, folder=rowmq.folder)
    assert (ran.code, ran.err.startswith(f"rowmq: {sentence}")) == (2, True), ran.err
    assert len(ran.err.splitlines()) == 1


def test_where_a_broken_module_breaks_is_said(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("x = 1\ny = x / 0\n")
    ran = finished("work", "broken", folder=tmp_path)
    assert f"({tmp_path}/broken.py, line 2)" in ran.err


def test_work_runs_on_postgresql(app: Path, postgres_url: str) -> None:
    with connect(postgres_url) as client:
        client.queue("emails").push("hello")
        with process("work", "jobs:mq", folder=app, ROWMQ_URL=postgres_url) as started:
            wait_for(app / "done", started, lines=1)
            code, err = stopped(started)
        assert code == 0, err
        assert client.queue("emails").stats().done == 1
