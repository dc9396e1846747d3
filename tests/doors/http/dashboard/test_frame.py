"""What all pages have in common: who gets them, what goes with them, and names that are any text."""

import html
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import httpx
import pytest

from rowmq.doors.http.dashboard import family
from rowmq.doors.http.dashboard.assets import TYPES, address
from rowmq.doors.http.dashboard.links import link, name_of
from rowmq.doors.http.settings import Settings
from rowmq.runtime.client import Client
from tests.doors.http.dashboard.visiting import Visitor
from tests.doors.http.serving import serving

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "a/b/c",
    "..",
    ".",
    "~..",
    "100%25 %2F",
    "#?&=+ ",
    "\u202eevil\u2066",
    "שלום/мир",
    "\\",
    "x" * 255,
    "🚀" * 255,
]
PAGES = ("", "consumers", "topics", "schedules", "archives", "health")


class Markup(HTMLParser):
    """Finds what could run in a page, as a browser would."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.runs: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        addresses = [said.get(name, "/") for name in ("src", "href", "action", "formaction")]
        foreign = [each for each in addresses if not each.startswith(("/", "#")) and each]
        handlers = [name for name in said if name.startswith("on") or name in {"style", "srcdoc"}]
        if foreign or handlers or (tag == "script" and "src" not in said):
            self.runs.append(self.get_starttag_text() or tag)


def pages_of(name: str) -> list[str]:
    return [link(part) if part else link() for part in PAGES] + [link("queues", name)]


def test_a_browser_that_asks_for_the_root_sees_the_dashboard(url: str) -> None:
    shown = httpx.get(url, headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (shown.status_code, shown.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<h1>Queues</h1>" in shown.text
    assert "<h1>Queues</h1>" in httpx.get(f"{url}/ui/").text


def test_a_program_that_asks_for_the_root_gets_what_it_got_before(url: str) -> None:
    for headers in ({}, {"accept": "application/json"}, {"accept": "*/*"}):
        assert httpx.get(url, headers=headers).text == "<UnknownOperationException/>\n"
    listed = httpx.get(url, params={"Action": "ListQueues"}, headers={"accept": "text/html"})
    assert "<ListQueuesResponse" in listed.text


@pytest.mark.parametrize("path", [link(part) if part else link() for part in PAGES])
def test_every_page_forbids_what_it_does_not_need(visitor: Visitor, path: str) -> None:
    answer = visitor.http.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"
    assert not re.search(r"<script(?! src=\"/ui/assets/)|<style| style=| on\w+=", answer.text)
    assert set(re.findall(r'(?:src|href|action)="(\w+:)?//', answer.text)) == set()


def test_a_page_that_says_no_forbids_as_much(visitor: Visitor) -> None:
    answer = visitor.http.get("/ui/nonsense")
    assert answer.status_code == 404
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "there is no page" in answer.text


@pytest.mark.parametrize("path", [link(part) if part else link() for part in PAGES])
def test_a_head_is_a_page_without_its_body(visitor: Visitor, path: str) -> None:
    answer = visitor.http.head(path)
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["content-length"]) > 1000


def test_assets_may_be_kept_for_ever_and_change_their_address_when_they_change(visitor: Visitor) -> None:
    page = visitor.sees()
    assert all(address(name) in page for name in ("dashboard.css", "dashboard.js", "icon.svg"))
    for name, type in TYPES.items():
        answer = visitor.http.get(address(name))
        assert (answer.status_code, answer.headers["content-type"]) == (200, type)
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert re.fullmatch(r"/ui/assets/icon\.svg\?v=[0-9a-f]{12}", address("icon.svg"))


def test_no_other_file_is_an_asset(visitor: Visitor) -> None:
    for name in ("base.html", "../pages/base.html", "~..", "frame.py", "%00"):
        assert visitor.http.get(f"/ui/assets/{name.replace('/', '%2F')}").status_code == 404


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_is_any_text_is_shown_as_text_and_leads_to_its_queue(
    mq: Client, visitor: Visitor, name: str
) -> None:
    mq.queue(name)
    mq.topic(name).subscribe(name)
    mq.schedule(name, queue=name, every=60, payload=name)
    with mq.queue(name).consumer(name=name):
        for path in pages_of(name):
            answer = visitor.http.get(path)
            assert answer.status_code == 200, path
            assert Markup(answer.text).runs == [], path
    found = re.search(r'<a class="name" href="([^"]+)"', visitor.sees())
    assert found is not None
    assert visitor.http.get(html.unescape(found[1])).status_code == 200


@pytest.mark.parametrize("name", HOSTILE)
def test_a_link_has_one_part_for_each_name_and_leads_back_to_it(name: str) -> None:
    parts = link("queues", name).split("/")
    assert len(parts) == 4
    assert unquote(parts[3]) not in {".", ".."}
    assert name_of(unquote(parts[3])) == name


def test_text_that_turns_other_text_round_is_named_and_kept_apart(mq: Client, visitor: Visitor) -> None:
    mq.queue("abc\u202edef")
    assert "<bdi>abc⟨U+202E⟩def</bdi>" in visitor.sees()


def test_a_notice_stands_on_one_page_and_only_if_we_wrote_it(mq: Client, visitor: Visitor) -> None:
    mq.schedule("nightly", queue=mq.queue("emails").name, every=60)
    visitor.gets("schedules")
    answer = visitor.sends("schedules", "nightly", "pause")
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/schedules")
    cookie = answer.headers["set-cookie"]
    assert "; HttpOnly; SameSite=Strict" in cookie
    assert "paused schedule nightly" in visitor.sees("schedules")
    assert "paused schedule nightly" not in visitor.sees("schedules")
    visitor.http.cookies.clear()
    visitor.http.cookies.set("rowmq_notice", cookie.partition("=")[2].partition(";")[0][:-2] + "AA")
    assert 'class="notice"' not in visitor.sees("schedules")


def test_a_notice_may_have_the_longest_names_in_it(mq: Client, visitor: Visitor) -> None:
    name = "🚀" * 255
    mq.schedule(name, queue=mq.queue(name).name, every=60)
    visitor.gets("schedules")
    said = visitor.does("schedules", name, "push")
    assert said.startswith(f"pushed the message of schedule {name} to {name}, as ")
    assert len(said.encode()) < 3000


def test_errors_of_the_store_are_pages_that_tell_nothing_of_it(visitor: Visitor) -> None:
    answer = visitor.http.get(link("queues", "nowhere"))
    assert answer.status_code == 404
    assert "nowhere" in answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_a_server_in_front_of_another_says_whose_dashboard_to_open(url: str) -> None:
    with serving(url) as front:
        answer = httpx.get(front, headers={"accept": "text/html"})
    assert answer.status_code == 501
    assert "open the dashboard of that one" in answer.text


def test_every_post_asks_for_the_field_that_only_our_pages_know(mq: Client, visitor: Visitor) -> None:
    mq.queue("emails")
    posts = [route for route in family(Settings()).routes if route.method == "POST"]
    assert len(posts) > 10
    for route in posts:
        path = re.sub(r"{\w+}", "emails", route.path)
        for csrf in ("", "guess", "é"):
            answer = visitor.http.post(path, data={"csrf": csrf})
            assert answer.status_code == 403, route.path
            assert "this form is not one of ours" in answer.text


def test_nothing_changes_by_a_get(url: str) -> None:
    gets = {route.path for route in family(Settings()).routes if route.method == "GET"}
    posts = {route.path for route in family(Settings()).routes if route.method == "POST"}
    assert gets & posts == {"/ui/login"}
    for path in posts - {"/ui/login"}:
        answer = httpx.get(url + re.sub(r"{\w+}", "emails", path), headers={"accept": "text/html"})
        assert answer.status_code in {404, 405}, path


def test_a_form_from_a_page_of_elsewhere_is_refused(mq: Client, visitor: Visitor) -> None:
    mq.schedule("nightly", queue=mq.queue("emails").name, every=60)
    visitor.gets("schedules")
    for header in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}):
        answer = visitor.http.post(
            link("schedules", "nightly", "drop"), data={"csrf": visitor.csrf}, headers=header
        )
        assert answer.status_code == 403
    assert len(mq.schedules()) == 1


def test_a_form_is_text_of_a_bounded_number_of_fields(visitor: Visitor) -> None:
    for body in (b"a=%ff", b"\xff", b"&".join(b"%d=" % number for number in range(300))):
        answer = visitor.http.post("/ui/logout", content=body)
        assert answer.status_code == 400
        assert "a form is UTF-8" in answer.text


def test_templates_have_no_way_around_escaping() -> None:
    folder = Path(__file__).parents[4] / "rowmq/doors/http/dashboard/pages"
    for page in folder.glob("*.html"):
        assert not re.search(r"\|\s*safe|autoescape\s+false|style=|<script(?! src)", page.read_text()), page
