"""A server with TLS, talked to by real clients that check its certificate and sign what they ask."""

import random
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import boto3
import botocore.config
import botocore.exceptions
import pytest
import trustme
import urllib3
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest

from rowmq.doors.http.launch import settings_of
from rowmq.runtime.client import Client, connect
from rowmq.runtime.config import Config
from rowmq.runtime.config_sections import ServerConfig
from tests.doors.http.asked import key_text, token_text, write_tokens
from tests.doors.http.raw import say_each
from tests.doors.http.serving import serving

KEY, SECRET = "RMQKAAAABBBBCCCCDDDD", "s3cret" * 8


class Place(NamedTuple):
    """A server that others could reach, the file of whoever vouches for it, and its store from behind."""

    url: str
    authority: str
    mq: Client


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "authority.pem")
    made = authority.issue_cert("127.0.0.1", "localhost")
    made.private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    tokens = write_tokens(
        folder / "tokens.toml",
        token_text("reader", "right", read=["*"]),
        key_text("legacy", KEY, SECRET, push=["emails"], claim=["emails"], read=["emails"], manage=["own-*"]),
    )
    settings = settings_of(
        Config(server=ServerConfig(tls_cert=str(folder / "server.pem"), tokens=str(tokens)))
    )
    with (
        connect("memory://") as mq,
        serving(mq, tls=settings.tls, access=settings.access, secret=settings.secret) as url,
    ):
        mq.queue("emails")
        mq.queue("secrets")
        yield Place(url, str(folder / "authority.pem"), mq)


def sqs(place: Place, *, secret: str = SECRET, verify: str | bool | None = None) -> Any:
    return boto3.client(
        "sqs",
        endpoint_url=place.url,
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=secret,
        verify=place.authority if verify is None else verify,
        config=botocore.config.Config(retries={"total_max_attempts": 1}),
    )


def test_a_client_that_knows_the_authority_is_answered_and_others_turn_away(place: Place) -> None:
    headers = {"Authorization": "Bearer right"}
    with urllib3.PoolManager(ca_certs=place.authority) as known:
        answer = known.request("GET", f"{place.url}/v1/queues", headers=headers)
    assert (answer.status, len(answer.json()["queues"])) == (200, 2)
    with urllib3.PoolManager() as stranger, pytest.raises(urllib3.exceptions.MaxRetryError, match="CERTIF"):
        stranger.request("GET", f"{place.url}/v1/queues", headers=headers, retries=0)


def test_old_versions_of_tls_are_refused(place: Place) -> None:
    settings = settings_of(
        Config(server=ServerConfig(tls_cert=str(Path(place.authority).with_name("server.pem"))))
    )
    assert settings.tls is not None
    assert settings.tls.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_plain_requests_and_random_bytes_are_turned_away_and_the_server_stays(place: Place) -> None:
    chance = random.Random(7)  # noqa: S311 - to be the same each time
    plain = [b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"] * 10
    cases = [*plain, *(b"\x16\x03\x01" + chance.randbytes(chance.randint(0, 500)) for _ in range(200))]
    assert {status for found in say_each(place.url, cases) for status in found} == set()
    with urllib3.PoolManager(ca_certs=place.authority) as known:
        assert known.request("GET", f"{place.url}/healthz").status == 200


def test_boto3_signs_and_does_its_work(place: Place) -> None:
    client = sqs(place)
    url = client.get_queue_url(QueueName="emails")["QueueUrl"]
    client.send_message(QueueUrl=url, MessageBody="hello")
    (found,) = client.receive_message(QueueUrl=url)["Messages"]
    assert found["Body"] == "hello"
    client.delete_message(QueueUrl=url, ReceiptHandle=found["ReceiptHandle"])
    assert place.mq.queue("emails").stats().leased == 0


def test_boto3_with_a_wrong_secret_is_refused_in_its_words(place: Place) -> None:
    with pytest.raises(botocore.exceptions.ClientError) as told:
        sqs(place, secret="x" * 40).list_queues()
    assert told.value.response["Error"]["Code"] == "SignatureDoesNotMatch"


def test_boto3_may_do_what_its_key_may_and_no_more(place: Place) -> None:
    client = sqs(place)
    assert [url.rpartition("/")[2] for url in client.list_queues()["QueueUrls"]] == ["emails"]
    for name in ("secrets", "nowhere"):
        with pytest.raises(botocore.exceptions.ClientError) as told:
            client.send_message(QueueUrl=f"{place.url}/000000000000/{name}", MessageBody="hello")
        error = told.value.response["Error"]
        assert (error["Code"], error["Message"]) == ("AccessDenied", "Access to the resource is denied.")
    assert place.mq.queue("secrets").stats().ready == 0


def test_a_presigned_address_needs_no_key(place: Place) -> None:
    session = boto3.Session(KEY, SECRET, region_name="us-east-1")
    address = f"{place.url}/000000000000/emails?Action=GetQueueAttributes&AttributeName.1=All"
    request = AWSRequest("GET", address)
    SigV4QueryAuth(session.get_credentials(), "sqs", "us-east-1", expires=60).add_auth(request)
    with urllib3.PoolManager(ca_certs=place.authority) as known:
        assert known.request("GET", request.url).status == 200
        assert known.request("GET", request.url.replace("emails", "secrets")).status == 403
