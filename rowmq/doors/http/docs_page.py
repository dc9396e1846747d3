"""The page for people: the OpenAPI document as plain HTML, without a line of script."""

import json
from collections.abc import Iterator, Mapping
from html import escape
from importlib.resources import files
from typing import Any

from rowmq.core import errors
from rowmq.doors.http.answer import Answer
from rowmq.doors.http.problem import CODES, TABLE

STRICT = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "no-referrer",
}


def page(document: Mapping[str, Any]) -> Answer:
    """The document as a page."""
    return Answer(200, "".join(_page(document)).encode(), "text/html; charset=utf-8", STRICT)


def style() -> Answer:
    """How it looks."""
    text = files("rowmq.doors.http").joinpath("docs.css").read_bytes()
    return Answer(200, text, "text/css; charset=utf-8", STRICT)


def _page(document: Mapping[str, Any]) -> Iterator[str]:
    info = document["info"]
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>RowMQ</title>'
    yield '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="docs/style.css">'
    yield f"</head><body><h1>{escape(info['title'])} {escape(info['version'])}</h1>"
    yield f'<p>{escape(info["description"])} <a href="openapi.json">OpenAPI 3.1</a></p>'
    for tag in document["tags"]:
        yield from _family(tag["name"], document)
    yield from _schemas(document["components"]["schemas"])
    yield from _errors()
    yield "</body></html>"


def _family(name: str, document: Mapping[str, Any]) -> Iterator[str]:
    yield f"<h2>{escape(name)}</h2>"
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if name in operation["tags"]:
                yield from _operation(method, path, operation)


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield f'<section id="{escape(operation["operationId"])}"><h3><b>{escape(method.upper())}</b> '
    yield f"<code>{escape(path)}</code></h3><p>{escape(operation['summary'])}</p>"
    for paragraph in operation["description"].split("\n\n"):
        yield f"<p>{escape(paragraph)}</p>" if paragraph else ""
    yield "<dl>"
    for each in operation.get("parameters", ()):
        need = "" if each["required"] else ", optional"
        yield f"<dt><code>{escape(each['name'])}</code> ({escape(each['in'])}{need})</dt>"
        yield f"<dd>{_schema(each['schema'])}</dd>"
    if "requestBody" in operation:
        yield f"<dt>body</dt><dd>{_content(operation['requestBody'])}</dd>"
    for status, response in operation["responses"].items():
        yield f"<dt>{escape(status)} {escape(response['description'])}</dt><dd>{_content(response)}</dd>"
    yield "</dl></section>"


def _content(said: Mapping[str, Any]) -> str:
    return "; ".join(
        f"{escape(kind)} {_schema(each['schema'])}" for kind, each in said.get("content", {}).items()
    )


def _schema(schema: Any) -> str:
    if isinstance(schema, Mapping) and set(schema) == {"$ref"}:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    return f"<code>{escape(json.dumps(schema, ensure_ascii=False))}</code>" if schema else "anything"


def _schemas(schemas: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>shapes</h2>"
    for name, schema in schemas.items():
        yield f'<section id="{escape(name)}"><h3><code>{escape(name)}</code></h3>'
        yield f"<p>{escape(schema.get('description', ''))}</p><dl>"
        for field, kind in schema.get("properties", {}).items():
            need = "" if field in schema.get("required", ()) else ", optional"
            yield f"<dt><code>{escape(field)}</code>{need}</dt><dd>{_schema(kind)}</dd>"
        yield "</dl></section>"


def _errors() -> Iterator[str]:
    """What every code means; a problem's type leads here."""
    yield "<h2>errors</h2><dl>"
    for status, code in CODES.items():
        yield f'<dt id="{code}"><code>{code}</code> ({status})</dt><dd></dd>'
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, errors.RowMQError):
            status = next(TABLE[each].status for each in kind.__mro__ if each in TABLE)
            yield f'<dt id="{name}"><code>{name}</code> ({status})</dt><dd>{escape(kind.__doc__ or "")}</dd>'
    yield "</dl>"
