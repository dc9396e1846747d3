"""The grants of docs/security.md: a role that can do everything with messages, and nothing to tables."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit, urlunsplit

import httpx
import psycopg
import pymysql
import pytest

import rowmq
from rowmq.runtime.client import Client
from tests.doors.http.serving import serving
from tests.servers import connect_mysql, connect_postgres

DOCUMENT = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
DOCUMENTED, PASSWORD = "rowmq_runtime", "choose-one"
ROLE = f"{DOCUMENTED}_{secrets.token_hex(4)}"
"""Of this process: the server may be shared."""


def statements(heading: str) -> list[str]:
    """The SQL under a heading of the document."""
    found = re.search(rf"^### {heading}$.*?```sql\n(.*?)```", DOCUMENT, re.DOTALL | re.MULTILINE)
    assert found, heading
    return [each.strip() for each in found[1].replace(DOCUMENTED, ROLE).split(";") if each.strip()]


@contextmanager
def postgres_role(url: str) -> Iterator[str]:
    """The URL of a role with the grants, on tables that somebody else has made."""
    rowmq.connect(url).close()
    schema = re.findall(r"search_path=(\w+)", str(parse_qs(urlsplit(url).query)))[0]
    with connect_postgres(url) as admin:
        for statement in statements("PostgreSQL"):
            admin.execute(re.sub(r"\bSCHEMA \w+\b", f"SCHEMA {schema}", statement))
        try:
            yield as_role(url)
        finally:
            admin.execute(f"DROP OWNED BY {ROLE}")
            admin.execute(f"DROP ROLE {ROLE}")


@contextmanager
def mysql_role(url: str) -> Iterator[str]:
    rowmq.connect(url).close()
    database = urlsplit(url).path.removeprefix("/")
    with connect_mysql(url) as admin, admin.cursor() as cursor:
        for statement in statements("MySQL and MariaDB"):
            cursor.execute(re.sub(r"\bjobs\.", f"{database}.", statement))
        try:
            yield as_role(url)
        finally:
            cursor.execute(f"DROP USER {ROLE}@'%'")


def as_role(url: str) -> str:
    """The same place, entered by the role."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{ROLE}:{PASSWORD}@{place}"))


def work(mq: Client) -> None:
    """A life of messages, with all that belongs to it."""
    queue = mq.queue("emails", dead_letter=mq.queue("failed").name, rate=(1000, 1))
    queue.push_many([1, 2])
    queue.push(3, key="a", group="b")
    for message in queue.claim(limit=3):
        message.ack(result={"done": True})
    queue.push(4)
    queue.claim()[0].kill("it would not help")
    assert mq.queue("failed").redrive(to="emails") == 1
    mq.topic("orders").subscribe("emails")
    mq.topic("orders").publish(5)
    mq.schedule("nightly", queue="emails", every=60)
    mq.sweep()
    assert len(list(mq.find("emails"))) == 5
    assert queue.purge() == 2
    assert queue.delete()


def test_a_role_without_ddl_is_enough_for_the_client_on_postgresql(postgres_url: str) -> None:
    with postgres_role(postgres_url) as url, rowmq.connect(url, migrate=False) as mq:
        work(mq)


def test_a_role_without_ddl_is_enough_for_the_server_on_postgresql(postgres_url: str) -> None:
    with (
        postgres_role(postgres_url) as url,
        rowmq.connect(url, migrate=False) as mq,
        serving(mq) as server,
        rowmq.connect(server) as remote,
    ):
        work(remote)
        assert httpx.get(f"{server}/readyz").status_code == 200


def test_that_role_cannot_change_the_tables_of_postgresql(postgres_url: str) -> None:
    refused = psycopg.errors.InsufficientPrivilege
    with postgres_role(postgres_url) as url, psycopg.connect(plain(url), autocommit=True) as role:
        for statement in (
            "DROP TABLE rowmq_messages",
            "ALTER TABLE rowmq_messages ADD x int",
            "CREATE TABLE x (y int)",
            "TRUNCATE rowmq_messages",
            "DELETE FROM rowmq_migrations",
        ):
            with pytest.raises(refused):
                role.execute(statement)


def plain(url: str) -> str:
    return re.sub(r"^postgresql\+\w+", "postgresql", url)


def test_a_role_without_ddl_is_enough_for_the_client_on_mysql(mysql_url: str) -> None:
    with mysql_role(mysql_url) as url, rowmq.connect(url, migrate=False) as mq:
        work(mq)


def test_that_role_cannot_change_the_tables_of_mysql(mysql_url: str) -> None:
    with mysql_role(mysql_url) as url, connect_mysql(url) as role, role.cursor() as cursor:
        for statement in ("DROP TABLE rowmq_messages", "CREATE TABLE x (y int)", "TRUNCATE rowmq_messages"):
            with pytest.raises(pymysql.err.OperationalError, match="denied"):
                cursor.execute(statement)
