"""Tables: made, brought up to date, or printed as SQL."""

import click

from rowmq.doors.cli.session import Session, with_session
from rowmq.stores import open_store
from rowmq.stores.opening import dialect_of
from rowmq.stores.sql.migrations import migrations
from rowmq.stores.sql.store import SQLStore
from rowmq.stores.views import PACKAGES, schema, view


@click.command()
@click.option(
    "--print", "only_print", is_flag=True, help="Print the SQL that is missing instead of running it."
)
@with_session
def migrate(session: Session, *, only_print: bool) -> None:
    """Make RowMQ's tables, or bring them up to date."""
    url = session.config.url
    if only_print:
        sql = _missing(url)
        session.out.document({"sql": sql}) if session.out.as_json else click.echo(sql, nl=False)
        return
    store = open_store(url, migrate=False, check=False)
    names = store.migrate()
    store.close()
    session.out.result(
        {"migrations": names}, f"ran {', '.join(names)}" if names else "the tables are up to date"
    )


@click.command("schema")
@click.option(
    "--dialect", type=click.Choice(list(PACKAGES)), help="The kind of database; by default the URL's."
)
@click.option("--drop", is_flag=True, help="Print what drops RowMQ's tables instead.")
@click.option("--view", "view_name", metavar="NAME", help="Print a view of one queue instead.")
@click.option("--queue", metavar="QUEUE", help="The queue that the view shows.")
@with_session
def schema_command(
    session: Session, *, dialect: str | None, drop: bool, view_name: str | None, queue: str | None
) -> None:
    """Print the SQL that makes RowMQ's tables, or a view of one queue. Nothing is run."""
    if (view_name is None) != (queue is None):
        raise click.UsageError("--view NAME and --queue QUEUE go together")
    kind = dialect or dialect_of(session.config.url)
    sql = view(kind, view_name, queue) if view_name and queue else schema(kind, drop=drop)
    session.out.document({"sql": sql}) if session.out.as_json else click.echo(sql, nl=False)


def _missing(url: str) -> str:
    """The SQL of the migrations that a database lacks; all of them if it cannot have any yet."""
    store = open_store(url, migrate=False, check=False)
    chosen = (
        store.migrator.missing() if isinstance(store, SQLStore) else migrations(PACKAGES[dialect_of(url)])
    )
    store.close()
    return "\n".join(f"-- {migration.name}\n{migration.sql}" for migration in chosen)
