"""The example service: what its requests push, and what its worker does."""

import importlib.util
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlalchemy.orm import Session

from rowmq import testing

EXAMPLE = Path(__file__).parent.parent / "examples" / "fastapi_app.py"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The example, on a database of the test's own, with no worker unless the test asks for one."""
    monkeypatch.setenv("ROWMQ_URL", f"sqlite:///{tmp_path}/shop.db")
    monkeypatch.setenv("WORKER", "0")
    spec = importlib.util.spec_from_file_location("fastapi_app", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "fastapi_app", module)
    spec.loader.exec_module(module)
    yield module
    module.mq.close()
    module.engine.dispose()


def orders(shop: ModuleType) -> list[tuple[str, bool]]:
    with Session(shop.engine) as session:
        return [(order.item, order.confirmed) for order in session.scalars(select(shop.Order))]


def test_a_request_that_goes_well_pushes_and_a_drain_handles_it(shop: ModuleType) -> None:
    with TestClient(shop.app) as client:
        answer = client.post("/orders", json={"item": "tea", "amount": 1})
        assert answer.status_code == 201
        testing.assert_pushed(shop.mq, task=shop.confirm, args=[1], count=1)
        assert orders(shop) == [("tea", False)]
        testing.drain(shop.mq, reraise=True)
        assert orders(shop) == [("tea", True)]
        page = client.get(f"/messages/{answer.json()['message']}")
        assert page.json() == {"state": "done"}


def test_a_request_that_is_rolled_back_pushes_nothing(shop: ModuleType) -> None:
    with TestClient(shop.app) as client:
        assert client.post("/orders", json={"item": "tea", "amount": 0}).status_code == 422
    assert orders(shop) == []
    testing.assert_nothing_pushed(shop.mq)


def test_an_async_endpoint_pushes_without_stopping_the_loop(shop: ModuleType) -> None:
    with TestClient(shop.app) as client:
        answer = client.post("/newsletter", params={"address": "ada@example.com"})
        assert answer.status_code == 202
        page = client.get(f"/messages/{answer.json()['message']}")
        assert page.json() == {"state": "scheduled"}
    testing.assert_pushed(shop.emails, {"to": "ada@example.com"}, metadata={"kind": "newsletter"}, count=1)


def test_the_worker_of_the_lifespan_works_and_stops_with_it(
    shop: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKER", "1")
    with TestClient(shop.app) as client:
        page = f"/messages/{client.post('/orders', json={'item': 'tea', 'amount': 1}).json()['message']}"
        end = time.monotonic() + 30
        while client.get(page).json()["state"] != "done" and time.monotonic() < end:
            time.sleep(0.02)
    assert orders(shop) == [("tea", True)]
    assert shop.mq.consumers() == []
