"""Every route asked by every kind of caller about his own queue and others': no wrong answer."""

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import httpx
import pytest

from rowmq.core.delivery import Want
from rowmq.doors.http.access import Tokens
from rowmq.doors.http.serving import Settings, families
from rowmq.doors.http.sqs.actions import ACTIONS
from rowmq.doors.http.sqs.moves import handle_of
from rowmq.doors.http.sqs.settings import Settings as SQSSettings
from rowmq.doors.http.sqs.subscription import Subscription
from rowmq.doors.http.sqs.topic_actions import TOPIC_ACTIONS
from rowmq.runtime.client import Client, connect
from tests.doors.http.asked import token_text, write_tokens
from tests.doors.http.needs import (
    AWS_PATHS,
    CLAIM,
    ID,
    NAME,
    NEEDS,
    QUEUE_ARN,
    RECEIPT,
    SUBSCRIPTION,
    TASK,
    Need,
)
from tests.doors.http.serving import serving

OWN, FOREIGN, UNKNOWN = "own-orders", "their-orders", "their-nothing"
RIGHTS = ("push", "claim", "read", "manage")
NOBODIES = ("nobody", "wrong", "expired")
ROLES = (*NOBODIES, *RIGHTS, "everything")
AWS = ("SQS", "SNS")
ROUTES = {
    f"{route.method} {route.path}": route
    for family in families(Settings())
    if family.name != "dashboard"  # whose pages have a matrix of their own
    for route in family.routes
}
ASKED = [
    *(key for key in ROUTES if key not in AWS_PATHS),
    *(f"SQS {name}" for name in ACTIONS),
    *(f"SNS {name}" for name in TOPIC_ACTIONS),
]


class World(NamedTuple):
    """A server, its store from behind, and for each queue a message's id and the receipt of a held one."""

    http: httpx.Client
    mq: Client
    ids: dict[str, str]
    receipts: dict[str, str]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    path = write_tokens(
        tmp_path_factory.mktemp("matrix") / "tokens.toml",
        *(token_text(right, right, None, **{right: ["own-*"]}) for right in RIGHTS),
        token_text("expired", "expired", "2020-01-01T00:00:00Z", manage=["*"], claim=["*"]),
        token_text("everything", "everything", None, **{right: ["*"] for right in RIGHTS}),
    )
    ticks = itertools.count()
    access = Tokens(path, clock=lambda: next(ticks) * 1000.0)  # so nobody here fails too often
    with (
        connect("memory://") as mq,
        serving(mq, access=access) as url,
        httpx.Client(base_url=url, timeout=30) as http,
    ):
        world = World(http, mq, {}, {})
        for name in (OWN, FOREIGN, UNKNOWN):
            set_up(world, name)
            world.receipts[name] = receipt(http, name)
        tear_down(world, UNKNOWN)
        yield world


def set_up(world: World, name: str) -> None:
    """The queue, and what is asked about: a message, and a topic and a schedule of its name."""
    queue = world.mq.queue(name, paused=False, lease=3600)
    queue.purge()
    world.ids[name] = str(queue.push(1))
    world.mq.topic(name).subscribe(name)
    world.mq.schedule(name, queue=name, every=3600)
    world.mq.store.claim(name, [Want(name=f"claim of {world.ids[name]}")])
    queue.push(2)


def tear_down(world: World, name: str) -> None:
    """Nobody has heard of it."""
    world.mq.drop_schedule(name)
    world.mq.topic(name).unsubscribe(name)
    world.mq.queue(name).delete()
    world.ids[name] = str(uuid4())


def receipt(http: httpx.Client, name: str) -> str:
    """The receipt of a message that is held now, under a claim of that name."""
    answer = http.post(f"/v1/queues/{name}/claim", json={"name": name}, headers=bearing("everything"))
    found: str = answer.json()["messages"][0]["receipt"]
    return found


def state(world: World) -> list[Any]:
    """All that a caller could have changed."""
    queues = world.mq.queues()
    counts = [world.mq.queue(queue.name).stats()._replace(oldest_age=None) for queue in queues]
    return [queues, counts, world.mq.topics(), world.mq.schedules(), world.mq.consumers()]


def ask(world: World, key: str, need: Need, role: str, name: str) -> httpx.Response:
    """Ask a route, or an operation of AWS, about a queue, as somebody."""
    method, path = key.split()
    query, body = filled(world, need.query, name), filled(world, need.body, name)
    if method == "SNS":
        return world.http.post("/", data={"Action": path, **query}, headers=bearing(role))
    if method == "SQS":
        target = {"X-Amz-Target": f"AmazonSQS.{path}", "Content-Type": "application/x-amz-json-1.0"}
        return world.http.post("/", json=body, headers=bearing(role) | target)
    said = {"id": world.ids[name], **need.names}
    path = re.sub(r"{(\w+)}", lambda found: said.get(found[1], name), path)
    content = None if body is None else json.dumps(body)
    return world.http.request(method, path, params=query, content=content, headers=bearing(role))


def filled(world: World, value: Any, name: str) -> Any:
    """What to say about a queue, with its names in it."""
    words = {
        NAME: name,
        ID: world.ids[name],
        RECEIPT: world.receipts[name],
        CLAIM: f"claim of {world.ids[name]}",
        TASK: handle_of(UUID(int=7), QUEUE_ARN.replace(NAME, name)),
        SUBSCRIPTION: Subscription(name, name).arn(SQSSettings()),
    }
    return json.loads(re.sub(r"@[A-Z]+", lambda found: words[found[0]], json.dumps(value)))


def may(need: Need, role: str, name: str) -> bool:
    """Whether the list says so."""
    if need.kind == "open":
        return True
    if role in NOBODIES:
        return False
    if role == "everything" or need.kind in {"known", "list"}:
        return True
    has_right = role == need.kind or (need.kind == "read" and role == "manage")
    return has_right and name == OWN


def bearing(role: str) -> dict[str, str]:
    return {} if role == "nobody" else {"Authorization": f"Bearer {role}"}


def test_every_route_and_every_operation_is_in_the_list_and_nothing_else_is() -> None:
    assert set(ASKED) == set(NEEDS)
    assert set(ROUTES) >= AWS_PATHS


def test_a_route_is_open_only_where_the_list_says_so() -> None:
    listed = {key for key, need in NEEDS.items() if need.kind == "open"}
    assert {key for key, route in ROUTES.items() if route.open} == listed


@pytest.mark.parametrize("key", ASKED)
def test_a_route_is_for_those_and_about_what_the_list_says(world: World, key: str) -> None:
    need = NEEDS[key]
    for role, name in itertools.product(ROLES, (OWN, FOREIGN)):
        prepare(world, need, name)
        before, answer = state(world), ask(world, key, need, role, name)
        about = f"{key} by {role} about {name}: {answer.status_code} {answer.text}"
        if may(need, role, name):
            assert answer.status_code < 400 or answer.status_code == need.also, about
        else:
            assert answer.status_code == refusal(key, need, role), about
            assert state(world) == before, about


def prepare(world: World, need: Need, name: str) -> None:
    for each in (OWN, FOREIGN):
        set_up(world, each)
    if need.fresh:
        tear_down(world, name)


def refusal(key: str, need: Need, role: str) -> int:
    """The status of a no: AWS has no 401."""
    if role in NOBODIES:
        return 403 if key.startswith(AWS) else 401
    return 404 if need.hidden else 403


@pytest.mark.parametrize("key", sorted(AWS_PATHS))
def test_an_operation_needs_its_right_wherever_it_is_asked(world: World, key: str) -> None:
    """By both protocols, on every path, and whatever queue the path names besides."""
    method, path = key.split()
    for role, named in itertools.product((*NOBODIES, "push", "manage"), (OWN, FOREIGN)):
        prepare(world, NEEDS["SQS SendMessage"], FOREIGN)
        at = path.replace("{queue}", named).replace("{account}", "0" * 12).replace("{region}", "eu-west-1")
        said = {"Action": "SendMessage", "QueueUrl": f"http://x/1/{FOREIGN}", "MessageBody": "1"}
        how = {"params": said} if method == "GET" else {"data": said}
        before = state(world)
        answer = world.http.request(method, at, headers=bearing(role), **how)  # type: ignore[arg-type]
        assert answer.status_code == 403, (key, role, named, answer.text)
        assert state(world) == before


@pytest.mark.parametrize("key", [key for key, need in NEEDS.items() if need.kind != "open"])
def test_what_is_forbidden_and_what_is_not_there_are_answered_alike(world: World, key: str) -> None:
    need = NEEDS[key]
    for role in (role for role in ROLES if not may(need, role, FOREIGN)):
        set_up(world, FOREIGN)
        there = ask(world, key, need, role, FOREIGN)
        nowhere = ask(world, key, need, role, UNKNOWN)
        assert (there.status_code, plain(there)) == (nowhere.status_code, plain(nowhere)), (key, role)
        assert there.headers.keys() == nowhere.headers.keys()


def plain(answer: httpx.Response) -> str:
    """An answer's text without the number that AWS's answers have, each its own."""
    return re.sub(r"<RequestId>[^<]*", "", answer.text)


@pytest.mark.parametrize("key", [key for key, need in NEEDS.items() if need.kind == "list"])
def test_a_list_shows_what_its_reader_may_read(world: World, key: str) -> None:
    for role in (role for role in ROLES if role not in NOBODIES):
        for name in (OWN, FOREIGN):
            set_up(world, name)
        text = ask(world, key, NEEDS[key], role, OWN).text
        assert (OWN in text) == (role in {"read", "manage", "everything"}), (role, text)
        assert (FOREIGN in text) == (role == "everything"), (role, text)


def test_a_receipt_of_another_queue_is_of_no_use_under_ones_own_name(world: World) -> None:
    """The queue a receipt is of is sealed into it, whatever its bearer says it is about."""
    set_up(world, OWN)
    number, sealed = world.receipts[FOREIGN].split(".")
    own = world.receipts[OWN].split(".")[1]
    for forged in (f"{number}.{own}", f"{number}.{sealed[:-4]}AAAA", f"{number}.{own[:22]}{sealed[22:]}"):
        answer = world.http.post(
            "/v1/settle",
            json={"settlements": [{"outcome": "ack", "receipt": forged}]},
            headers=bearing("claim"),
        )
        assert answer.json() == {"results": ["lost"]}, forged
