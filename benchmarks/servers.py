"""Which HTTP server and framework: the same trivial handler on each, one process.

    python -m benchmarks.servers [--seconds 4] [--rounds 3]

The handler reads a JSON body, looks at one field and answers a small JSON object. wrk asks over 64
connections, all in turn, round by round.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv
from contextlib import ExitStack
from pathlib import Path

from benchmarks.http import Case, rate, running
from tests.servers import free_port

PACKAGES = ("uvicorn", "httptools", "uvloop", "granian", "starlette", "litestar", "fastapi", "msgspec")
BARE = """
import msgspec
class Body(msgspec.Struct):
    to: str
decode, encode = msgspec.json.Decoder(Body).decode, msgspec.json.encode
HEADERS = [(b"content-type", b"application/json")]
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body = encode({"id": decode((await receive())["body"]).to})
    await send({"type": "http.response.start", "status": 200,
                "headers": HEADERS + [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})
async def rsgi(scope, protocol):
    body = encode({"id": decode(await protocol()).to})
    protocol.response_bytes(200, [("content-type", "application/json")], body)
"""
STARLETTE = """
import msgspec
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
async def f(request):
    body = msgspec.json.decode(await request.body())
    return Response(msgspec.json.encode({"id": body["to"]}), media_type="application/json")
app = Starlette(routes=[Route("/", f, methods=["POST"])])
"""
LITESTAR = """
import msgspec
from litestar import Litestar, post
class Body(msgspec.Struct):
    to: str
    text: str
@post("/", status_code=200)
async def f(data: Body) -> dict[str, str]:
    return {"id": data.to}
app = Litestar([f])
"""
FASTAPI = """
from fastapi import FastAPI
from pydantic import BaseModel
class Body(BaseModel):
    to: str
    text: str
app = FastAPI()
@app.post("/")
async def f(data: Body) -> dict[str, str]:
    return {"id": data.to}
"""
APPS = {"bare": BARE, "starlette": STARLETTE, "litestar": LITESTAR, "fastapi": FASTAPI}


def commands(folder: str, port: int) -> dict[str, list[str]]:
    """How each is started."""
    uvicorn = [f"{folder}/bin/uvicorn", "--log-level", "error", "--no-access-log", "--port", str(port)]
    granian = [f"{folder}/bin/granian", "--no-log", "--workers", "1", "--loop", "uvloop", "--port", str(port)]
    found = {}
    for name in APPS:
        found[f"uvicorn, {name}"] = [*uvicorn, "--app-dir", folder, f"{name}_app:app"]
        found[f"granian, {name}"] = [
            *granian,
            "--interface",
            "asgi",
            "--working-dir",
            folder,
            f"{name}_app:app",
        ]
    found["granian, bare RSGI"] = [*granian, "--interface", "rsgi", "--working-dir", folder, "bare_app:rsgi"]
    return found


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing: install the Debian package wrk")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        venv.create(folder, with_pip=True)
        subprocess.run([f"{folder}/bin/pip", "install", "--quiet", *PACKAGES], check=True)  # noqa: S603
        for name, code in APPS.items():
            Path(folder, f"{name}_app.py").write_text(code)
        ports = {}
        for name in commands(folder, 0):
            port = free_port()
            stack.enter_context(running(commands(folder, port)[name], f"http://127.0.0.1:{port}/"))
            ports[name] = port
        show(measure(ports, options.seconds, options.rounds))


def measure(ports: dict[str, int], seconds: int, rounds: int) -> dict[str, float]:
    """Requests a second of each, the median of the rounds."""
    rates: dict[str, list[float]] = {name: [] for name in ports}
    for _ in range(rounds):
        for name, port in ports.items():
            case = Case(name, name, "/", "post.lua")
            rates[name].append(rate(case, f"http://127.0.0.1:{port}", "", seconds, 64))
    return {name: statistics.median(each) for name, each in rates.items()}


def show(rates: dict[str, float]) -> None:
    """Print a table."""
    print("| server, application | requests/s |\n|---|---:|")
    for name, each in sorted(rates.items(), key=lambda pair: -pair[1]):
        print(f"| {name} | {each:,.0f} |")


if __name__ == "__main__":
    main()
