"""Where a server may listen, and for whom: everything else is refused before anybody can connect."""

import time
from itertools import product
from pathlib import Path

import httpx
import pytest
import trustme

from rowmq.core.errors import InvalidSetting
from rowmq.doors.http.launch import check
from rowmq.doors.http.tokens_file import FRESH
from rowmq.runtime.config import Config
from rowmq.runtime.config_sections import ServerConfig
from tests.doors.http.asked import token_text, write_tokens
from tests.doors.http.serving import served
from tests.doors.program import finished
from tests.servers import free_port

HERE = ("127.0.0.1", "localhost", "::1", "127.0.0.2")
ELSEWHERE = ("0.0.0.0", "::", "192.0.2.1", "queue.test", "")  # noqa: S104 - nothing is bound
MATRIX = list(product((*HERE, *ELSEWHERE), *[[False, True]] * 3))


@pytest.mark.parametrize(("host", "tokens", "tls", "insecure"), MATRIX)
def test_beyond_this_machine_only_with_tokens_and_tls_or_on_purpose(
    host: str, tokens: bool, tls: bool, insecure: bool
) -> None:
    said = ServerConfig(
        host=host, tokens="t" if tokens else None, tls_cert="c" if tls else None, insecure=insecure
    )
    if host in HERE or (tokens and (tls or insecure)):
        assert check(Config(url="memory://", server=said)) is None  # type: ignore[func-returns-value]
    else:
        with pytest.raises(InvalidSetting, match="--tokens FILE" if not tokens else "--tls-cert FILE"):
            check(Config(url="memory://", server=said))


@pytest.fixture
def tokens(tmp_path: Path) -> str:
    return str(write_tokens(tmp_path / "tokens.toml", token_text("a", "right", read=["*"])))


@pytest.fixture
def certificate(tmp_path: Path) -> str:
    path = tmp_path / "server.pem"
    trustme.CA().issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(path)
    return str(path)


def refused(folder: Path, *arguments: str, **extra: str) -> str:
    """What a server says that does not start."""
    port = str(free_port())
    ran = finished("serve", "-p", port, "-d", ":memory:", *arguments, folder=folder, **extra)
    assert ran.code == 2, ran
    assert "Traceback" not in ran.err
    return ran.err


def test_the_program_does_not_listen_beyond_this_machine_without_tokens(tmp_path: Path) -> None:
    assert "it needs tokens" in refused(tmp_path, "--host", "0.0.0.0")  # noqa: S104 - it is refused
    assert "it needs tokens" in refused(tmp_path, "--host", "0.0.0.0", "--insecure")  # noqa: S104 - the same
    assert "it needs tokens" in refused(tmp_path, ROWMQ_SERVER_HOST="0.0.0.0")  # noqa: S104 - the same


def test_the_program_does_not_listen_beyond_this_machine_without_tls(tmp_path: Path, tokens: str) -> None:
    assert "say --tls-cert FILE" in refused(tmp_path, "--host", "0.0.0.0", "--tokens", tokens)  # noqa: S104


def test_the_program_does_not_start_with_tokens_that_it_cannot_use(tmp_path: Path, tokens: str) -> None:
    assert "cannot be read" in refused(tmp_path, "--tokens", "nowhere.toml")
    Path(tokens).chmod(0o644)
    assert "chmod 600" in refused(tmp_path, "--tokens", tokens)


def test_the_program_does_not_start_with_tls_that_it_cannot_use(tmp_path: Path, certificate: str) -> None:
    assert "TLS cannot be had" in refused(tmp_path, "--tls-cert", "nowhere.pem")
    assert "needs its certificate" in refused(tmp_path, "--tls-key", certificate)


def test_with_tokens_and_on_purpose_it_listens_and_asks_who_comes(tmp_path: Path, tokens: str) -> None:
    arguments = ("-d", ":memory:", "--host", "0.0.0.0", "--tokens", tokens, "--insecure")  # noqa: S104
    with served(*arguments, folder=tmp_path) as server:
        assert httpx.get(f"{server.url}/v1/queues").status_code == 401
        known = {"Authorization": "Bearer right"}
        assert httpx.get(f"{server.url}/v1/queues", headers=known).status_code == 200
        elsewhere = {"Host": "queue.test", **known}
        assert httpx.get(f"{server.url}/v1/queues", headers=elsewhere).status_code == 200


def test_a_server_of_this_machine_is_not_reached_by_another_name(tmp_path: Path) -> None:
    with served("-d", ":memory:", "--allow-host", "queue.test", folder=tmp_path) as server:
        names = {"queue.test": 200, "localhost": 200, "evil.test": 421}
        for name, status in names.items():
            assert httpx.get(f"{server.url}/v1/queues", headers={"Host": name}).status_code == status


def test_a_revoked_token_is_refused_by_a_server_that_runs(tmp_path: Path) -> None:
    token = finished("tokens", "add", "a", "--read", "*", "--file", "t.toml", folder=tmp_path).out.strip()
    with served("-d", ":memory:", "--tokens", "t.toml", folder=tmp_path) as server:
        known = {"Authorization": f"Bearer {token}"}
        assert httpx.get(f"{server.url}/v1/queues", headers=known).status_code == 200
        assert finished("tokens", "revoke", "a", "--file", "t.toml", folder=tmp_path).code == 0
        time.sleep(FRESH)  # the server's own clock, which nobody can move
        assert httpx.get(f"{server.url}/v1/queues", headers=known).status_code == 401


def test_no_answer_is_taken_for_a_page_by_a_browser(tmp_path: Path) -> None:
    with served("-d", ":memory:", folder=tmp_path) as server:
        for path in (
            "/healthz",
            "/v1/queues",
            "/v1/queues/<script>",
            "/queues",
            "/nowhere",
            "/docs",
            "/?Action=X",
        ):
            answer = httpx.get(server.url + path)
            assert answer.headers.get_list("x-content-type-options") == ["nosniff"], path
            assert ("text/html" in answer.headers["content-type"]) == (path == "/docs")
