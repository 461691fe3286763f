"""`turnlog show`: one session, readable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from turnlog.cli.config import Config
    from turnlog.cli.show.telling import ShowOptions
    from turnlog.session.session import Session


@click.command()
@click.argument("session")
@click.option("-t", "--turn", metavar="N|A..B", help="Only this turn, or these; they are numbered from 1.")
@click.option("--thinking", is_flag=True, help="Also what the model thought.")
@click.option("--full", is_flag=True, help="Shorten nothing.")
@click.option(
    "--branch", metavar="K|UUID|all", help="The branch with this number, or that ends with this entry; or all."
)
@click.option("--redact", is_flag=True, help="Replace API keys, tokens and passwords by marks.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def show(
    session: str, turn: str | None, thinking: bool, full: bool, branch: str | None, redact: bool, as_json: bool
) -> None:
    """Show one session: its turns, calls with results in short, sub-agents below their calls.

    SESSION is a path, an id or the start of one, a title, or `last`. Where a conversation branches (after a
    rewind), the branch that the client would resume is shown.

    \b
    Examples:
      turnlog show last
      turnlog show bee7dbd3 --turn 2 --full
      turnlog show "Fix cent rounding" --thinking
      turnlog show last --full --redact > for-a-colleague.txt
      turnlog show last --json | jq .usage
    """
    from turnlog.cli.config import load_config
    from turnlog.cli.output import print_json
    from turnlog.cli.show.telling import ShowOptions

    config = load_config()
    with _open(session, config, redact) as (found, restore_paths):
        if as_json:
            from turnlog.session.facts import to_session_document

            print_json(restore_paths(to_session_document(found)))
        else:
            _print_session(found, ShowOptions(turn, branch, thinking, full), config)


@contextmanager
def _open(name: str, config: Config, redact: bool) -> Iterator[tuple[Session, Callable[[Any], Any]]]:
    """Open a session, or its copy without secrets, and give what puts the paths of the original into its facts."""
    from datetime import timedelta

    from turnlog.cli.named import locate_session, open_named_session

    if not redact:
        with open_named_session(name, config) as session:
            yield session, lambda value: value
        return
    from turnlog.export.redacted import ExportRedaction
    from turnlog.redact.rules import SecretRules
    from turnlog.session.session import Session

    path = locate_session(name, config)
    redaction = ExportRedaction(SecretRules())
    redaction.learn_secrets([path])
    with (
        redaction.copy_redacted(path) as copy,
        Session.open(copy, gap=timedelta(minutes=config.gap_minutes)) as session,
    ):
        yield session, partial(_with_paths, str(copy.parent), redaction.text(str(path.parent)))


def _with_paths(copied: str, original: str, value: Any) -> Any:
    """A JSON value in which the folder of the copy is that of the original."""
    if isinstance(value, str):
        return original + value.removeprefix(copied) if value.startswith(copied) else value
    if isinstance(value, dict):
        return {key: _with_paths(copied, original, item) for key, item in value.items()}
    return [_with_paths(copied, original, item) for item in value] if isinstance(value, list) else value


def _print_session(session: Session, wish: ShowOptions, config: Config) -> None:
    from turnlog.cli.output import print_lines
    from turnlog.cli.show.telling import render_session_lines
    from turnlog.cli.terminal import detect_screen

    print_lines(render_session_lines(session, wish, detect_screen(config.color)))
