"""The program: every command in one group, and what its endings mean."""

import os
import sys
from typing import NoReturn

import click

from rowmq.core.errors import InvalidInput, RowMQError
from rowmq.doors.cli import (
    claim,
    completion,
    doctor,
    find,
    init,
    observe,
    push,
    queues,
    schedules,
    schema,
    serve,
    settle,
    spark_archive,
    spark_audit,
    spark_files,
    spark_replay,
    spark_report,
    spark_work,
    stats,
    tokens,
    top,
    topics,
    work,
)
from rowmq.doors.cli.session import InOrder, ReaderGone, common
from rowmq.runtime.log import escaped, redacted_text

DONE, FAILED, ASKED_WRONGLY, INTERRUPTED = 0, 1, 2, 130
COMMANDS = (
    init.init,
    queues.queues,
    push.push,
    claim.claim,
    settle.ack,
    settle.retry,
    settle.release,
    settle.kill,
    settle.extend,
    work.work,
    spark_work.spark_work,
    serve.serve,
    stats.stats,
    top.top,
    stats.consumers,
    find.find,
    find.show,
    find.amend,
    find.redrive,
    find.purge,
    topics.topics,
    topics.publish,
    topics.subscribe,
    topics.unsubscribe,
    observe.observe,
    schedules.schedules,
    spark_archive.archive,
    spark_replay.replay,
    spark_audit.audit,
    spark_report.report,
    tokens.tokens,
    schema.migrate,
    schema.schema_command,
    doctor.doctor,
    completion.completion,
    spark_files.load,
    spark_files.export,
    spark_files.import_command,
)


@click.group(cls=InOrder, context_settings={"help_option_names": ["-h", "--help"]})
@common
@click.version_option(package_name="rowmq")
def cli(**_: object) -> None:
    """A message queue in the database you already have."""


for _command in COMMANDS:
    cli.add_command(_command)


def main() -> NoReturn:
    """Run the command line and end with its exit code; docs/cli.md says what they mean."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets its number instead of a traceback.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(run())


def run(arguments: list[str] | None = None) -> int:
    """Run what the arguments say; the exit code."""
    try:
        code = cli(arguments, prog_name="rowmq", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except ReaderGone:
        return _reader_gone()
    except click.ClickException as error:
        return _show(error)
    except (RowMQError, OSError, ModuleNotFoundError) as error:
        return _tell(error)
    return code if isinstance(code, int) else DONE


def _show(error: click.ClickException) -> int:
    context = getattr(error, "ctx", None)
    if context is not None:
        click.echo(context.get_usage(), err=True)
        click.echo(f"Try '{context.command_path} -h' for help.", err=True)
    click.echo(f"rowmq: {_safe(error.format_message())}", err=True)
    return error.exit_code


def _tell(error: Exception) -> int:
    notes: list[str] = getattr(error, "__notes__", [])
    click.echo(f"rowmq: {_safe('; '.join([str(error), *notes]))}", err=True)
    return ASKED_WRONGLY if isinstance(error, InvalidInput) else FAILED


def _safe(text: str) -> str:
    """An error's text without passwords, on one line, unable to steer a terminal."""
    return escaped(redacted_text(" ".join(text.split("\n"))))


def _reader_gone() -> int:
    """That is no failure, and nothing can be said any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return DONE
