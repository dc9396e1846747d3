"""Where options come from, and what is said about those that cannot be."""

import re
from pathlib import Path

import pytest

from rowmq.core.errors import InvalidSetting
from rowmq.runtime.config import Config, load, options
from rowmq.runtime.config_file import find_file

DOCUMENT = Path(__file__).parents[2] / "docs" / "configuration.md"
NAMES = [each.name for each in options()]


def loaded(folder: Path, *, toml: str = "", pyproject: str = "", **environment: str) -> Config:
    for name, text in (("rowmq.toml", toml), ("pyproject.toml", pyproject)):
        if text:
            (folder / name).write_text(text)
    return load(folder=folder, environment=environment)


def test_without_anything_said_the_defaults_hold(tmp_path: Path) -> None:
    assert loaded(tmp_path) == Config()
    assert loaded(tmp_path).url == "sqlite:///rowmq.db"


def test_an_argument_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "rowmq.toml").write_text("[worker]\nconcurrency = 2\nbuffer = 20\nbatch = 200\n")
    environment = {"ROWMQ_WORKER_BUFFER": "30", "ROWMQ_WORKER_BATCH": "300"}
    said = load({"worker.batch": 400, "worker.poll": None}, folder=tmp_path, environment=environment).worker
    assert (said.concurrency, said.buffer, said.batch, said.poll) == (2, 30, 400, 1.0)


def test_the_file_may_be_a_table_of_pyproject_in_a_folder_above(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (below / "pyproject.toml").write_text('[project]\nname = "uses-rowmq"\n')
    (tmp_path / "pyproject.toml").write_text('[tool.rowmq]\nurl = "memory://"\nlog.level = "debug"\n')
    found = load(folder=below, environment={})
    assert (found.url, found.log.level) == ("memory://", "debug")


def test_rowmq_toml_is_preferred_to_pyproject_beside_it_and_the_nearest_folder_counts(tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    (below / "rowmq.toml").write_text('url = "sqlite:////near.db"')
    (below / "pyproject.toml").write_text('[tool.rowmq]\nurl = "sqlite:////beside.db"')
    (tmp_path / "rowmq.toml").write_text('url = "sqlite:////far.db"\nproducer.batch = 7')
    found = load(folder=below, environment={})
    assert (found.url, found.producer.batch) == ("sqlite:////near.db", 1)


def test_a_broken_pyproject_that_does_not_name_rowmq_is_left_alone(tmp_path: Path) -> None:
    assert loaded(tmp_path, pyproject="[broken\n") == Config()


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("sqlite:///jobs.db", "sqlite:///{folder}/jobs.db"),
        ("sqlite:///data/jobs.db?durability=off", "sqlite:///{folder}/data/jobs.db?durability=off"),
        ("sqlite:////var/jobs.db", "sqlite:////var/jobs.db"),
        ("sqlite:///:memory:", "sqlite:///:memory:"),
        ("sqlite://", "sqlite://"),
        ("postgresql://db/jobs", "postgresql://db/jobs"),
    ],
)
def test_a_relative_path_in_a_file_is_relative_to_the_file(url: str, meant: str, tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    (tmp_path / "rowmq.toml").write_text(f'url = "{url}"')
    assert load(folder=below, environment={}).url == meant.format(folder=tmp_path)


def test_a_path_in_a_file_is_relative_to_the_file_too(tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    (tmp_path / "rowmq.toml").write_text('[server]\ntokens = "tokens.toml"\ntls_cert = "/etc/cert.pem"')
    found = load(folder=below, environment={}).server
    assert (found.tokens, found.tls_cert) == (str(tmp_path / "tokens.toml"), "/etc/cert.pem")


def test_a_relative_path_in_the_environment_is_relative_to_the_working_directory(tmp_path: Path) -> None:
    assert loaded(tmp_path, ROWMQ_URL="sqlite:///jobs.db").url == "sqlite:///jobs.db"


def test_an_empty_variable_says_nothing(tmp_path: Path) -> None:
    assert loaded(tmp_path, ROWMQ_URL="", ROWMQ_WORKER_LEASE="") == Config()


@pytest.mark.parametrize("name", NAMES)
def test_every_option_can_be_set_in_the_file_and_in_the_environment(name: str, tmp_path: Path) -> None:
    option = next(each for each in options() if each.name == name)
    other = {bool: not option.default, int: 7, float: 0.5, str: "/a/b"}
    value = option.choices[-1] if option.choices else other[option.kind]
    text = f'"{value}"' if isinstance(value, str) else str(value).lower()
    for config in (
        loaded(tmp_path, toml=f"{name} = {text}"),
        load(folder=Path("/"), environment={option.env: str(value)}),
    ):
        section, _, key = name.rpartition(".")
        assert getattr(getattr(config, section) if section else config, key) == value
    assert value != option.default


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("ROWMQ_WORKER_CONCURRENCY", "many", "is a whole number of at least 1, not 'many'"),
        ("ROWMQ_WORKER_CONCURRENCY", "0", "is a whole number of at least 1, not 0"),
        ("ROWMQ_WORKER_POLL", "nan", "is a number of at least 0.001, not nan"),
        ("ROWMQ_METRICS_PORT", "70000", "is a whole number of at least 1 and of at most 65535, not 70000"),
        ("ROWMQ_LOG_FORMAT", "xml", "is one of text, json, not 'xml'"),
        ("ROWMQ_SERVER_INSECURE", "1", "is one of true, false, not '1'"),
    ],
)
def test_a_bad_variable_is_named_in_one_sentence(
    variable: str, value: str, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidSetting) as raised:
        loaded(tmp_path, **{variable: value})
    assert str(raised.value) == f"{variable} {sentence}"


@pytest.mark.parametrize(
    ("toml", "sentence"),
    [
        ("worker.concurrency = 'x'", "worker.concurrency in {file} is a whole number of at least 1, not 'x'"),
        (
            "worker.concurrency = true",
            "worker.concurrency in {file} is a whole number of at least 1, not True",
        ),
        ("server.insecure = 1", "server.insecure in {file} is one of true, false, not 1"),
        ("worker.batch = 1.5", "worker.batch in {file} is a whole number"),
        ("worker.lease = []", "worker.lease in {file} is a number of at least 0.001, not []"),
        ("url = 5", "url in {file} is text, not 5"),
        ("url = ''", "url in {file} is text, not ''"),
        ("wroker.batch = 1", "{file} has wroker.batch, which is no option; did you mean worker.batch?"),
        ("worker = 5", "{file} has worker, which is no option"),
        ("[worker", "{file} is not TOML"),
    ],
)
def test_a_bad_file_is_named_in_one_sentence(toml: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting) as raised:
        loaded(tmp_path, toml=toml)
    assert str(raised.value).startswith(sentence.format(file=tmp_path / "rowmq.toml"))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["tool = 5 # rowmq", "[tool]\nrowmq = 5"])
def test_a_pyproject_whose_table_is_none_is_named_too(text: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(InvalidSetting, match=r"pyproject.toml: tool.rowmq is a table"):
        find_file(tmp_path)


def test_the_documentation_tables_every_option_as_it_is() -> None:
    rows = re.findall(
        r"^\| `([a-z_.]+)` \| (.+?) \| `(\w+)` \| (.+?) \|$", DOCUMENT.read_text(), re.MULTILINE
    )
    shown = {name: (default, variable, meaning) for name, default, variable, meaning in rows}
    real = {
        each.name: ("unset" if each.default is None else f"`{each.default}`", each.env, each.help)
        for each in options()
    }
    assert shown == real
    assert [row[0] for row in rows] == NAMES
