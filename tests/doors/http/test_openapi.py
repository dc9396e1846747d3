"""The OpenAPI document is true: it has every route, and the server keeps to it whatever it is asked."""

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from openapi_spec_validator import OpenAPIV31SpecValidator
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from rowmq.doors.http.openapi import document
from rowmq.doors.http.serving import Settings, families
from tests.doors.http.serving import serving

FAMILIES = [each for each in families(Settings()) if each.name != "dashboard"]
"""Those that programs use; the dashboard's are pages."""
DOCUMENT = document(FAMILIES)
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
OPERATIONS = [f"{method.upper()} {path}" for path, each in DOCUMENT["paths"].items() for method in each]
NAMES = st.sampled_from(["q", "q", "letters", "topic", "nowhere", "naïve one"])


@schemathesis.serializer("application/x-ndjson")
def lines(context: Any, value: Any) -> bytes:
    return str(value).encode(errors="replace")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("openapi")
    with serving(f"sqlite:///{folder / 'queue.db'}?durability=off") as url:
        yield url


def test_the_document_has_every_route_and_no_other() -> None:
    routes = {f"{route.method} {route.path}" for family in FAMILIES for route in family.routes}
    assert set(OPERATIONS) == routes
    assert {"POST /v1/settle", "GET /queues/{name}/receive", "GET /docs"} <= routes


def test_the_document_is_openapi() -> None:
    OpenAPIV31SpecValidator(DOCUMENT).validate()


def test_every_operation_says_what_it_does_under_a_name_of_its_own() -> None:
    operations = [each for path in DOCUMENT["paths"].values() for each in path.values()]
    assert [each["operationId"] for each in operations if not each["summary"]] == []
    assert len({each["operationId"] for each in operations}) == len(operations)


def test_the_server_serves_the_document(url: str) -> None:
    answer = httpx.get(f"{url}/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == DOCUMENT


class Page(HTMLParser):
    """What a page refers to, and the tags it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        self.tags.add(tag)
        self.attributes |= set(said)
        self.ids |= {str(said["id"])} if "id" in said else set()
        self.links |= {str(said["href"])} if "href" in said else set()


def test_the_page_for_people_lists_everything_and_needs_nothing_from_elsewhere(url: str) -> None:
    answer = httpx.get(f"{url}/docs")
    page = Page(answer.text)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.tags.isdisjoint({"script", "style", "img", "iframe"})
    assert "style" not in page.attributes
    assert {each for each in page.links if not each.startswith("#")} == {"docs/style.css", "openapi.json"}
    assert {each[1:] for each in page.links if each.startswith("#")} <= page.ids
    assert {f"<code>{path}</code>" in answer.text for path in DOCUMENT["paths"]} == {True}
    assert "color" in httpx.get(f"{url}/docs/style.css").text


def test_what_an_error_says_its_type_is_stands_on_the_page(url: str) -> None:
    kinds = {
        httpx.get(f"{url}/v1/queues/nowhere").json()["type"],
        httpx.post(f"{url}/v1/settle", content=b"{").json()["type"],
    }
    assert kinds == {"/docs#QueueNotFound", "/docs#BadRequest"}
    assert {each.partition("#")[2] for each in kinds} <= Page(httpx.get(f"{url}/docs").text).ids


def tamed(case: Any, name: str) -> None:
    """Let nobody wait, and let some of the questions be about what there is."""
    for field in ("queue", "topic", "schedule", "name"):
        if isinstance(case.path_parameters, dict) and field in case.path_parameters and name != "random":
            case.path_parameters[field] = name
    if isinstance(case.body, dict) and "wait" in case.body:
        case.body["wait"] = 0
    if case.path == "/v1/wait" and case.method == "GET":
        case.query["timeout"] = 0
        if isinstance(case.query.get("queue"), list):
            case.query["queue"] = case.query["queue"][:20]  # as many as a URL can be sure to hold
    if case.path == "/v1/wait" and isinstance(case.body, dict):
        case.body["timeout"] = 0


def strategies(operation: Any) -> st.SearchStrategy[Any]:
    """What the document allows, and where that can be, what it does not."""
    allowed = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    has_rules = operation.body or operation.query
    if not has_rules:
        return allowed  # type: ignore[no-any-return]
    return st.one_of(allowed, operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))


def explore(url: str, operation: str, examples: int) -> int:
    """Ask one operation in many ways, and check every answer; how often."""
    method, path = operation.split()
    for name in ("letters", "q"):
        httpx.put(f"{url}/v1/queues/{name}", json={"dead_letter": "letters"} if name == "q" else {})
    strategy = strategies(SCHEMA[path][method])
    count = 0

    @seed(20260501)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy, name=st.one_of(st.just("random"), NAMES))
    def ask(case: Any, name: str) -> None:
        nonlocal count
        tamed(case, name)
        case.call_and_validate(base_url=url, checks=CHECKS, timeout=30)
        count += 1

    ask()
    return count


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_server_keeps_to_the_document_whatever_it_is_asked(url: str, operation: str) -> None:
    assert explore(url, operation, 24) > 0


@pytest.mark.soak
@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_server_keeps_to_the_document_for_long(url: str, operation: str) -> None:
    assert explore(url, operation, 2000) > 0
