"""Tokens: who may use a server, and for which queues."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from rowmq.core.errors import InvalidSetting
from rowmq.doors.cli.output import Item
from rowmq.doors.cli.session import InOrder, Session, common, session_of, with_session
from rowmq.doors.cli.words import MOMENT, moment_at

RIGHTS = ("push", "claim", "read", "manage")
COLUMNS = ("name", "kind", "id", "expires", *RIGHTS)
DEFAULT_FILE = "rowmq-tokens.toml"
_FILE = click.option(
    "--file", metavar="FILE", help=f"The tokens file; or tokens under [server], else {DEFAULT_FILE}."
)
_HELP = {
    "push": "Let it push to queues, and publish to topics, of this name; abc* for all that begin so.",
    "claim": "Let it claim, extend and settle messages of this queue.",
    "read": "Let it read settings, counts and messages of this queue.",
    "manage": "Let it make, change, purge and delete this queue, and read it.",
}


def _entry_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for right in reversed(RIGHTS):
        function = click.option(f"--{right}", multiple=True, metavar="NAME|PREFIX*", help=_HELP[right])(
            function
        )
    return _FILE(click.option("--expires", type=MOMENT, help="When it ends, or in how long.")(function))


@click.group(cls=InOrder, invoke_without_command=True)
@common
@click.pass_context
def tokens(context: click.Context, /, **_: object) -> None:
    """List who may use a server, or add and revoke tokens and AWS keys."""
    if context.invoked_subcommand is None:
        _list(session_of(context), None)


@tokens.command("list")
@_FILE
@with_session
def list_command(session: Session, *, file: str | None) -> None:
    """List tokens and keys with their rights; secrets are never shown again."""
    _list(session, file)


@tokens.command()
@click.argument("name")
@_entry_options
@with_session
def add(session: Session, *, name: str, file: str | None, **said: Any) -> None:
    """Make a token and print it, this once; only its hash is kept."""
    known, files = _modules()
    token, path = known.new_token(), path_of(session, file)
    entry = known.Token(name=name, sha256=known.digest_of(token).hex(), **_rights(said))
    files.change(path, lambda entries: [*entries, entry])
    session.out.result({"name": name, "token": token, "file": str(path)}, token)


@tokens.command("add-key")
@click.argument("name")
@_entry_options
@with_session
def add_key(session: Session, *, name: str, file: str | None, **said: Any) -> None:
    """Make an AWS access key for SQS clients and print it; the file keeps its secret in plain."""
    known, files = _modules()
    id, secret, path = known.new_key_id(), known.new_secret(), path_of(session, file)
    files.change(
        path, lambda entries: [*entries, known.Key(name=name, id=id, secret=secret, **_rights(said))]
    )
    if session.out.as_json:
        session.out.document({"name": name, "id": id, "secret": secret, "file": str(path)})
    else:
        session.out.line(f"AWS_ACCESS_KEY_ID={id}")
        session.out.line(f"AWS_SECRET_ACCESS_KEY={secret}")


@tokens.command()
@click.argument("name")
@_FILE
@with_session
def revoke(session: Session, *, name: str, file: str | None) -> None:
    """Take a token or key away; servers notice within a second or two."""
    _, files = _modules()
    path = path_of(session, file)
    found = [entry.name for entry in files.read(path).entries]
    if name not in found:
        raise InvalidSetting(f"{path} has no entry {name!r}; it has {', '.join(found) or 'none'}")
    files.change(path, lambda entries: [entry for entry in entries if entry.name != name])
    session.out.result({"revoked": name, "file": str(path)}, f"{name!r} is revoked")


def path_of(session: Session, said: str | None) -> Path:
    """The tokens file: what was said, what the configuration says, or the default."""
    return Path(said or session.config.server.tokens or DEFAULT_FILE)


def _list(session: Session, file: str | None) -> None:
    _, files = _modules()
    found = [_shape(entry) for entry in files.read(path_of(session, file)).entries]
    session.out.listing(found, COLUMNS, none="there are no tokens; make one with: rowmq tokens add NAME")


def _shape(entry: Any) -> Item:
    id = getattr(entry, "id", None)
    rights = {right: list(getattr(entry, right)) for right in RIGHTS}
    return {
        "name": entry.name,
        "kind": "key" if id else "token",
        "id": id,
        "expires": entry.expires,
        **rights,
    }


def _rights(said: dict[str, Any]) -> dict[str, Any]:
    """The fields of a new entry, which must be good for something, and not over already."""
    rights: dict[str, Sequence[str]] = {right: said[right] for right in RIGHTS}
    if not any(rights.values()):
        raise click.UsageError("say what it is for: --push, --claim, --read or --manage, each with a queue")
    return {**rights, "expires": _expiry(said["expires"])}


def _expiry(said: datetime | timedelta | None) -> datetime | None:
    now = datetime.now(UTC)
    moment = moment_at(said, now)
    if moment is not None and moment <= now:
        raise click.UsageError(f"--expires is in the future, not {moment.isoformat()}")
    return moment and moment.astimezone(UTC).replace(microsecond=0)


def _modules() -> tuple[ModuleType, ModuleType]:
    try:
        from rowmq.doors.http import tokens as known  # noqa: PLC0415 - an extra, and nobody else should pay for it
        from rowmq.doors.http import tokens_file  # noqa: PLC0415 - the same
    except ModuleNotFoundError:
        raise InvalidSetting(
            "tokens need a package that is not installed; run: pip install 'rowmq[server]'"
        ) from None
    return known, tokens_file
