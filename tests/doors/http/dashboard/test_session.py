"""Coming in with a token, staying, leaving, and being shown the door."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from rowmq.doors.http.access import BURST, Open, Tokens
from rowmq.doors.http.dashboard import family
from rowmq.doors.http.dashboard.door import inside
from rowmq.doors.http.dashboard.sealing import Sealing
from rowmq.doors.http.dashboard.session import COOKIE, LASTS, Sessions, cookie_of
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.settings import Settings
from rowmq.doors.http.sqs.settings import Settings as SQSSettings
from rowmq.runtime.client import Client
from tests.doors.http.asked import asked, bearing, token_text, write_tokens
from tests.doors.http.dashboard.visiting import Visitor, known
from tests.doors.http.serving import serving

ADA = {"read": ["*"], "manage": ["*"]}


@pytest.fixture
def closed(mq: Client, tmp_path: Path) -> Iterator[str]:
    """A server that asks who one is."""
    mq.queue("emails")
    with serving(mq, **known(tmp_path, ada=ADA, bob={"read": ["emails"]})) as url:
        yield url


@pytest.fixture
def somebody(closed: str) -> Iterator[Visitor]:
    """Somebody without a token yet."""
    with Visitor(closed) as visitor:
        yield visitor


def log_in(visitor: Visitor, token: str, **fields: str) -> httpx.Response:
    visitor.gets("login")
    return visitor.sends("login", token=token, **fields)


def test_who_has_no_session_is_led_to_the_login_and_from_there_to_where_he_wanted(somebody: Visitor) -> None:
    led = somebody.gets("queues", "emails", reach="day")
    assert (led.status_code, led.headers["location"]) == (
        303,
        "/ui/login?next=%2Fui%2Fqueues%2Femails%3Freach%3Dday",
    )
    page = somebody.http.get(led.headers["location"])
    assert page.status_code == 200
    found = re.search(r'name="next" value="([^"]*)"', page.text)
    assert found is not None
    entered = log_in(somebody, "ada", next=found[1])
    assert (entered.status_code, entered.headers["location"]) == (303, "/ui/queues/emails?reach=day")
    assert somebody.gets("queues", "emails").status_code == 200


def test_nothing_but_the_door_and_its_looks_is_for_strangers(mq: Client, somebody: Visitor) -> None:
    before = mq.queues()
    asked = {route.path for route in family(Settings()).routes}
    for route in family(Settings()).routes:
        path = re.sub(r"{\w+}", "emails", route.path)
        plain = somebody.http.request(route.method, path, headers={"accept": "*/*"}, data={"csrf": "x"})
        if route.path in {"/ui/login", "/ui/assets/{name}"}:
            assert plain.status_code in {200, 403, 404}
            continue
        assert plain.status_code == 401, route.path
        led = somebody.http.request(route.method, path, data={"csrf": "x"})
        assert led.headers["location"].startswith("/ui/login?next="), route.path
    assert len(asked) > 20
    assert mq.queues() == before


def test_the_root_of_a_closed_server_leads_to_the_login(somebody: Visitor) -> None:
    assert somebody.http.get("/").headers["location"] == "/ui/login?next=%2F"
    assert log_in(somebody, "ada", next="/").headers["location"] == "/ui"


def test_programs_and_streams_that_are_not_known_are_told_so_plainly(somebody: Visitor) -> None:
    for path in ("/ui", "/ui/live"):
        assert somebody.http.get(path, headers={"accept": "text/event-stream"}).status_code == 401


def test_a_session_is_a_cookie_that_scripts_and_other_sites_do_not_get(somebody: Visitor) -> None:
    entered = log_in(somebody, "ada")
    assert re.fullmatch(
        r"rowmq_session=[\w-]{60,}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict",
        entered.headers["set-cookie"],
    )
    assert "ada" not in entered.headers["set-cookie"]


def test_a_session_is_only_sent_encrypted_where_that_can_be(mq: Client, tmp_path: Path) -> None:
    public = SQSSettings(public_url="https://queue.example.com")
    with serving(mq, sqs=public, **known(tmp_path, ada=ADA)) as url, Visitor(url) as visitor:
        assert log_in(visitor, "ada").headers["set-cookie"].endswith("; Secure")


def test_a_wrong_token_is_refused_beside_its_field_and_not_shown_again(somebody: Visitor) -> None:
    for token in ("wrong-token", "", "é", "x" * 5000):
        answer = log_in(somebody, token)
        assert answer.status_code == 401
        assert "this token is not one we know" in answer.text
        assert "wrong-token" not in answer.text
        assert "set-cookie" not in answer.headers


def test_failures_are_counted_by_address_and_who_is_right_gets_in_all_the_same(somebody: Visitor) -> None:
    somebody.gets("login")
    statuses = [somebody.sends("login", token="wrong").status_code for _ in range(BURST + 5)]  # noqa: S106
    assert statuses[:BURST] == [401] * BURST
    assert statuses[-1] == 429
    last = somebody.sends("login", token="wrong")  # noqa: S106 - none
    assert "too many failures from this address" in last.text
    assert last.headers["retry-after"] == "2"
    assert log_in(somebody, "ada").status_code == 303


def test_a_login_without_the_field_of_our_page_is_refused(somebody: Visitor) -> None:
    answer = somebody.http.post("/ui/login", data={"token": "ada"})
    assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)


def test_the_api_does_not_know_sessions(mq: Client, somebody: Visitor) -> None:
    log_in(somebody, "ada")
    assert somebody.gets().status_code == 200
    for method, path in (
        ("GET", "/v1/queues"),
        ("POST", "/v1/queues/emails/purge"),
        ("GET", "/queues"),
        ("GET", "/queues/emails/receive"),
        ("GET", "/metrics"),
    ):
        assert somebody.http.request(method, path).status_code == 401, path
    assert somebody.http.get("/?Action=ListQueues").status_code == 403


def test_leaving_ends_the_session_in_the_browser(somebody: Visitor) -> None:
    log_in(somebody, "ada")
    page = somebody.sees()
    assert "Log out" in page
    left = somebody.sends("logout")
    assert (left.status_code, left.headers["location"]) == (303, "/ui/login?left=true")
    assert left.headers["set-cookie"].startswith("rowmq_session=; Path=/; Max-Age=0; ")
    assert "You are logged out" in somebody.http.get(left.headers["location"]).text
    assert somebody.gets().status_code == 303


def test_a_session_dies_with_its_token(mq: Client, tmp_path: Path) -> None:
    ticks = iter(range(0, 10**6, 1000))
    path = write_tokens(tmp_path / "tokens.toml", token_text("ada", "ada", None, read=["*"]))
    access = Tokens(path, clock=lambda: float(next(ticks)))
    with serving(mq, access=access, secret=access.secret) as url, Visitor(url) as visitor:
        log_in(visitor, "ada")
        assert visitor.gets().status_code == 200
        write_tokens(path, token_text("ada", "another", None, read=["*"]))
        assert visitor.gets().status_code == 303
        assert visitor.sends("logout").status_code == 303


def test_rights_that_change_change_for_sessions_too(mq: Client, tmp_path: Path) -> None:
    ticks = iter(range(0, 10**6, 1000))
    mq.queue("emails")
    path = write_tokens(tmp_path / "tokens.toml", token_text("ada", "ada", None, read=["emails"]))
    access = Tokens(path, clock=lambda: float(next(ticks)))
    with serving(mq, access=access, secret=access.secret) as url, Visitor(url) as visitor:
        log_in(visitor, "ada")
        assert ">emails<" in visitor.sees()
        write_tokens(path, token_text("ada", "ada", None, read=["other"]))
        assert ">emails<" not in visitor.sees()
        assert visitor.gets("queues", "emails").status_code == 403


def test_a_session_is_known_to_every_server_of_the_same_tokens_file(mq: Client, tmp_path: Path) -> None:
    settings = known(tmp_path, ada=ADA)
    with serving(mq, **settings) as one, serving(mq, **settings) as other:
        with Visitor(one) as visitor:
            log_in(visitor, "ada")
            cookie = visitor.http.cookies[COOKIE]
        there = httpx.get(f"{other}/ui", cookies={COOKIE: cookie}, headers={"accept": "text/html"})
        assert there.status_code == 200


def test_a_bearer_token_is_as_good_as_a_session(closed: str) -> None:
    with Visitor(closed, "ada") as visitor:
        assert "Log out" not in visitor.sees()
        assert visitor.does("queues", "emails", "pause") == "paused emails"


def test_a_session_that_was_forged_or_shortened_is_none(somebody: Visitor) -> None:
    log_in(somebody, "ada")
    session = somebody.http.cookies[COOKIE]
    somebody.http.cookies.clear()
    other = Sealing(b"guess").seal("session", b"x" * 56)
    for wrong in (session[:-4], "A" * len(session), session[:40], other, "x", "é".encode().decode("latin-1")):
        headers = {b"cookie": f"{COOKIE}={wrong}".encode("latin-1")}
        assert somebody.http.get("/ui", headers=headers).status_code == 303, wrong
    twice = {"cookie": f"{COOKIE}={session}; {COOKIE}={session}"}
    assert somebody.http.get("/ui", headers=twice).status_code == 303


def test_a_form_of_one_session_is_not_good_in_another(mq: Client, closed: str) -> None:
    with Visitor(closed) as ada, Visitor(closed) as bob:
        log_in(ada, "ada")
        log_in(bob, "bob")
        ada.gets("queues", "emails")
        bob.gets()
        ada.csrf = bob.csrf
        assert ada.sends("queues", "emails", "pause").status_code == 403
    assert not mq.queues()[0].paused


def test_a_session_lasts_half_a_day(tmp_path: Path) -> None:
    now = datetime(2026, 5, 1, tzinfo=UTC)
    access = Tokens(write_tokens(tmp_path / "tokens.toml", token_text("ada", "ada", None, read=["*"])))
    session = Sessions(access, b"key", now=lambda: now).begin(asked(), "ada")
    request = asked(headers=[("cookie", f"{COOKIE}={session}")])
    late = Sessions(access, b"key", now=lambda: now + LASTS)
    soon = Sessions(access, b"key", now=lambda: now + LASTS - timedelta(seconds=1))
    broker = None
    assert soon.known(broker, request).name == "ada"  # type: ignore[arg-type] # it asks nothing of it
    with pytest.raises(Refusal, match="log in"):
        late.known(broker, request)  # type: ignore[arg-type]


def test_a_token_that_expires_takes_its_session_with_it(tmp_path: Path) -> None:
    end = datetime(2026, 5, 1, tzinfo=UTC)
    clock = [end - timedelta(minutes=1)]
    path = write_tokens(
        tmp_path / "tokens.toml", token_text("ada", "ada", "2026-05-01T00:00:00Z", read=["*"])
    )
    sessions = Sessions(Tokens(path, now=lambda: clock[0]), b"key", now=lambda: clock[0])
    request = asked(headers=[("cookie", f"{COOKIE}={sessions.begin(asked(), 'ada')}")])
    assert sessions.known(None, request).name == "ada"  # type: ignore[arg-type]
    clock[0] = end
    with pytest.raises(Refusal, match="log in"):
        sessions.known(None, request)  # type: ignore[arg-type]


def test_an_open_server_has_no_login(visitor: Visitor) -> None:
    assert visitor.gets("login").headers["location"] == "/ui"
    assert "Log out" not in visitor.sees()


def test_open_access_lets_anybody_in() -> None:
    sessions = Sessions(Open(), b"key")
    assert sessions.known(None, bearing("whatever")).name == "anybody"  # type: ignore[arg-type]
    assert sessions.begin(asked(), "whatever")


@pytest.mark.parametrize(
    "to",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "/ui/\\evil.example",
        "/v1/queues",
        "/uix",
        "/ui/../v1",
        "/ui//evil.example",
        "/ui/\r\nset-cookie: a=b",
        "javascript:alert(1)",
        "",
    ],
)
def test_a_login_leads_to_no_place_but_a_page_of_ours(somebody: Visitor, to: str) -> None:
    assert inside(to) == "/ui"
    entered = log_in(somebody, "ada", next=to)
    assert (entered.status_code, entered.headers["location"]) == (303, "/ui")


def test_who_follows_a_link_from_elsewhere_comes_again_with_his_session(somebody: Visitor) -> None:
    log_in(somebody, "ada")
    followed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    session = somebody.http.cookies[COOKIE]
    somebody.http.cookies.clear()  # as browsers do with a strict one
    again = somebody.http.get("/ui/queues/emails?reach=day", headers=followed)
    assert again.status_code == 200
    assert '<meta http-equiv="refresh" content="0; url=/ui/queues/emails?reach=day">' in again.text
    somebody.http.cookies.set(COOKIE, session)
    assert somebody.gets("queues", "emails").status_code == 200


def test_a_page_of_elsewhere_may_not_frame_fetch_or_send(url: str) -> None:
    for mode, dest, method, path in (
        ("navigate", "iframe", "GET", "/ui"),
        ("no-cors", "image", "GET", "/ui"),
        ("cors", "empty", "GET", "/ui/live"),
        ("navigate", "document", "POST", "/ui/login"),
        ("navigate", "document", "GET", "/queues/emails/receive"),
        ("navigate", "document", "GET", "/?Action=ListQueues"),
        ("navigate", "document", "GET", "/uix"),
    ):
        headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": mode, "sec-fetch-dest": dest}
        answer = httpx.request(method, url + path, headers=headers)
        assert (answer.status_code, path) == (403, path)


def test_of_two_cookies_of_a_name_none_counts() -> None:
    assert cookie_of(asked(headers=[("cookie", "a=1; rowmq_session=x")]), COOKIE) == "x"
    assert (
        cookie_of(asked(headers=[("cookie", "rowmq_session=x"), ("cookie", "rowmq_session=y")]), COOKIE)
        is None
    )
    assert cookie_of(asked(headers=[("cookie", "rowmq_session_2=x; rowmq_session")]), COOKIE) is None
