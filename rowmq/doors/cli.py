"""The command line."""

import json
import sys
from typing import NoReturn

import click

from rowmq.core.errors import InvalidInput, RowMQError
from rowmq.stores import open_store
from rowmq.stores.opening import dialect_of
from rowmq.stores.sql.migrations import migrations
from rowmq.stores.sql.store import SQLStore
from rowmq.stores.views import PACKAGES, schema, view

DEFAULT_URL = "sqlite:///rowmq.db"
url_option = click.option(
    "--url",
    envvar="ROWMQ_URL",
    default=DEFAULT_URL,
    show_default=True,
    help="The store's URL (or ROWMQ_URL).",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rowmq")
def cli() -> None:
    """A message queue in the database you already have."""


@cli.command()
@url_option
@click.option(
    "--print", "only_print", is_flag=True, help="Print the SQL that is missing instead of running it."
)
@json_option
def migrate(*, url: str, only_print: bool, as_json: bool) -> None:
    """Make RowMQ's tables, or bring them up to date."""
    if only_print:
        click.echo(_missing(url), nl=False)
        return
    store = open_store(url, migrate=False, check=False)
    names = store.migrate()
    store.close()
    if as_json:
        click.echo(json.dumps({"migrations": names}))
    else:
        click.echo(f"ran {', '.join(names)}" if names else "the tables are up to date")


@cli.command("schema")
@url_option
@click.option(
    "--dialect", type=click.Choice(list(PACKAGES)), help="The kind of database; by default the URL's."
)
@click.option("--drop", is_flag=True, help="Print what drops RowMQ's tables instead.")
@click.option("--view", "view_name", metavar="NAME", help="Print a view of one queue instead.")
@click.option("--queue", metavar="QUEUE", help="The queue that the view shows.")
def schema_command(
    *, url: str, dialect: str | None, drop: bool, view_name: str | None, queue: str | None
) -> None:
    """Print the SQL that makes RowMQ's tables, or a view of one queue. Nothing is run."""
    kind = dialect or dialect_of(url)
    if (view_name is None) != (queue is None):
        raise click.UsageError("--view NAME and --queue QUEUE go together")
    click.echo(view(kind, view_name, queue) if view_name and queue else schema(kind, drop=drop), nl=False)


def _missing(url: str) -> str:
    """The SQL of the migrations that a database lacks; all of them if it cannot have any yet."""
    store = open_store(url, migrate=False, check=False)
    chosen = (
        store.migrator.missing() if isinstance(store, SQLStore) else migrations(PACKAGES[dialect_of(url)])
    )
    store.close()
    return "\n".join(f"-- {migration.name}\n{migration.sql}" for migration in chosen)


def main() -> NoReturn:
    """Run the command line: 0 fine, 1 it could not be done, 2 it was asked wrongly."""
    try:
        cli(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except RowMQError as error:
        click.echo(f"rowmq: {error}", err=True)
        sys.exit(2 if isinstance(error, InvalidInput) else 1)
    sys.exit(0)
