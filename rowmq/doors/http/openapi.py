"""The OpenAPI document of all families, made from their routes, and the pages that show it."""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

import msgspec

from rowmq.doors.http.answer import JSON, Answer
from rowmq.doors.http.call import Call
from rowmq.doors.http.problem import TYPE, refuse
from rowmq.doors.http.refusal import Refusal
from rowmq.doors.http.route import Family, Route
from rowmq.stores.remote.shapes import Problem

REF = "#/components/schemas/{name}"
NAME = re.compile(r"{(\w+)}")
WORD = re.compile(r"\W+")
SOMEBODY = (401, 403)
ANYHOW = (408, 500, 503, 504, 507)
"""What any route may be answered with: it took too long, our mistake, and the store's."""
SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "signature": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "AWS Signature Version 4.",
    },
}
AWS_READS = ("application/x-amz-json-1.0", "application/x-www-form-urlencoded")
AWS_WRITES = ("application/x-amz-json-1.0", "text/xml")
Document = dict[str, Any]


def family(others: Sequence[Family]) -> Family:
    """The routes that describe all routes, themselves included."""
    from rowmq.doors.http.docs_page import page, style  # noqa: PLC0415 - it reads this document

    @cache
    def written() -> Document:
        return document([*others, made])

    async def openapi(call: Call) -> Answer:  # noqa: ARG001 - the same for everybody
        """The OpenAPI 3.1 document of this server."""
        return Answer(200, msgspec.json.encode(written()))

    async def docs(call: Call) -> Answer:  # noqa: ARG001 - the same for everybody
        """This server's routes, for people."""
        return page(written())

    async def docs_style(call: Call) -> Answer:  # noqa: ARG001 - the same for everybody
        """How the page for people looks."""
        return style()

    routes = (
        Route("GET", "/openapi.json", openapi, None, open=True, gives=dict[str, Any]),
        Route("GET", "/docs", docs, None, open=True, gives=str, writes="text/html; charset=utf-8"),
        Route(
            "GET", "/docs/style.css", docs_style, None, open=True, gives=str, writes="text/css; charset=utf-8"
        ),
    )
    made = Family("documentation", routes, refuse)
    return made


def document(families: Iterable[Family]) -> Document:
    """The OpenAPI 3.1 document of families of routes."""
    pairs = [(family, route) for family in families for route in family.routes]
    schema = _Schemas([kind for _, route in pairs for kind in _kinds(route)])
    names = _operation_names(pairs)
    paths: dict[str, dict[str, Any]] = {}
    for (family, route), name in zip(pairs, names, strict=True):
        operation = {"operationId": name, **_operation(family, route, schema)}
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "RowMQ",
            "version": version("rowmq"),
            "description": "A message queue in the database you already have.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in dict.fromkeys(family.name for family, _ in pairs)],
        "paths": paths,
        "components": {"schemas": schema.components, "securitySchemes": SCHEMES},
    }


class _Schemas:
    """The JSON schemas of all types that the routes name."""

    def __init__(self, kinds: Sequence[Any]) -> None:
        unique = list(dict.fromkeys([*kinds, Problem]))
        found, components = msgspec.json.schema_components(unique, ref_template=REF)
        self._of = dict(zip(unique, found, strict=True))
        self.components = {name: _plain(each) for name, each in sorted(components.items())}

    def __call__(self, kind: Any) -> Any:
        """The schema of a type."""
        return {} if kind is bytes else self._of[kind]

    def properties(self, kind: Any) -> Document:
        """The schema of a struct itself, not a reference to it."""
        name = self._of[kind]["$ref"].rpartition("/")[2]
        found: Document = self.components[name]
        return found


def _kinds(route: Route) -> list[Any]:
    return [each for each in (route.query, route.body, route.gives) if each not in {None, bytes}]


def _operation(family: Family, route: Route, schema: _Schemas) -> Document:
    summary, description = _told(route.endpoint)
    operation: Document = {"tags": [family.name], "summary": summary, "description": description}
    if route.right is not None:
        operation["description"] = f"{description}\n\n{_needs(route)}".strip()
    parameters = [*_path_parameters(route), *_query_parameters(route, schema)]
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None or route.reads != JSON:
        operation["requestBody"] = _request(route, schema)
    operation["responses"] = _responses(family, route, schema)
    operation["security"] = [] if route.open else [{"signature" if route.signed else "bearer": []}]
    return operation


def _told(endpoint: Callable[..., Any]) -> tuple[str, str]:
    """An endpoint's docstring: its first line, and the rest."""
    summary, _, rest = (inspect.getdoc(endpoint) or "").partition("\n")
    return summary, rest.strip()


def _needs(route: Route) -> str:
    """Which right it takes, in a sentence."""
    if route.over is not None:
        return f"Needs the right to {route.right} on the {route.over}."
    where = "what it is about" if route.late else "everything"
    return f"Needs the right to {route.right} on {where}."


def _path_parameters(route: Route) -> list[Document]:
    text = {"type": "string", "minLength": 1}
    return [
        {"name": name, "in": "path", "required": True, "schema": text} for name in NAME.findall(route.path)
    ]


def _query_parameters(route: Route, schema: _Schemas) -> list[Document]:
    if route.query is None:
        return []
    shape = schema.properties(route.query)
    return [
        {"name": name, "in": "query", "required": name in shape["required"], "schema": _asked(each)}
        for name, each in shape["properties"].items()
    ]


def _asked(schema: Document) -> Document:
    """What a query may say: where null is one of the choices, it is said by leaving the field out."""
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    if rest.get("default", ...) is None:
        del rest["default"]
    if len(choices) == 1:
        return {**rest, **choices[0]}
    return {**rest, "anyOf": choices} if choices else rest


def _request(route: Route, schema: _Schemas) -> Document:
    """What is sent; nothing means {}, so a body is left out where all of its fields may be."""
    kind = {"type": "string"} if route.body is None else schema(route.body)
    name = kind.get("$ref", "").rpartition("/")[2]
    optional = route.body is bytes or (name in schema.components and not schema.components[name]["required"])
    return {
        "required": not optional,
        "content": {each: {"schema": kind} for each in (AWS_READS if route.signed else (route.reads,))},
    }


def _responses(family: Family, route: Route, schema: _Schemas) -> Document:
    responses: Document = {str(route.status): {"description": HTTPStatus(route.status).phrase}}
    if route.gives is not None:
        kind = schema(route.gives) if route.writes == JSON else {"type": "string"}
        responses[str(route.status)]["content"] = {route.writes.partition(";")[0]: {"schema": kind}}
    refused = {"content": _in_aws_words() if route.signed else _refusal(family, schema)}
    if route.signed:
        responses[str(route.status)] |= refused
    for status in sorted({*_refused(route)}):
        responses[str(status)] = {"description": HTTPStatus(status).phrase, **refused}
    return responses


def _refused(route: Route) -> Iterable[int]:
    """The statuses of a route's refusals."""
    yield from route.refuses
    if route.open:
        return
    yield from (*SOMEBODY, *ANYHOW)
    if route.path.count("{") or route.query is not None or route.body is not None:
        yield 400
    if route.body is not None or route.reads != JSON:
        yield 413


def _refusal(family: Family, schema: _Schemas) -> Document:
    """How a family says no: its own words tell."""
    kind = family.refuse(Refusal(400, "no")).type.partition(";")[0]
    return {kind: {"schema": schema(Problem) if kind == TYPE else {}}}


def _in_aws_words() -> Document:
    """What AWS's clients are answered with, in either of their protocols; AWS's own documents say what."""
    return {each: {"schema": {}} for each in AWS_WRITES}


def _operation_names(pairs: Sequence[tuple[Family, Route]]) -> list[str]:
    """A name for each operation, none twice."""
    names = [f"{family.name}_{route.endpoint.__name__}" for family, route in pairs]
    return [
        name if names.count(name) == 1 else f"{name}_{route.method.lower()}_{WORD.sub('_', route.path)}"
        for name, (_, route) in zip(names, pairs, strict=True)
    ]


def _plain(schema: Document) -> Document:
    """A schema without its title, which only repeats its name."""
    return {name: value for name, value in schema.items() if name != "title"}
