"""`turnlog show`: one session, readable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from turnlog.cli.config import Config
    from turnlog.cli.show.telling import Wish
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
    from turnlog.cli.config import load
    from turnlog.cli.output import dump
    from turnlog.cli.show.telling import Wish

    config = load()
    with _open(session, config, redact) as (found, restore_paths):
        if as_json:
            from turnlog.session.facts import facts

            dump(restore_paths(facts(found)))
        else:
            _tell(found, Wish(turn, branch, thinking, full), config)


@contextmanager
def _open(name: str, config: Config, redact: bool) -> Iterator[tuple[Session, Callable[[Any], Any]]]:
    """Open a session, or its copy without secrets, and give what puts the paths of the original into its facts."""
    from datetime import timedelta

    from turnlog.cli.named import located, opened

    if not redact:
        with opened(name, config) as session:
            yield session, lambda value: value
        return
    from turnlog.export.redacted import Redaction
    from turnlog.redact.rules import Rules
    from turnlog.session.session import Session

    path = located(name, config)
    redaction = Redaction(Rules())
    redaction.learn([path])
    with redaction.copy(path) as copy, Session.open(copy, gap=timedelta(minutes=config.gap_minutes)) as session:
        yield session, partial(_with_paths, str(copy.parent), redaction.text(str(path.parent)))


def _with_paths(copied: str, original: str, value: Any) -> Any:
    """A JSON value in which the folder of the copy is that of the original."""
    if isinstance(value, str):
        return original + value.removeprefix(copied) if value.startswith(copied) else value
    if isinstance(value, dict):
        return {key: _with_paths(copied, original, item) for key, item in value.items()}
    return [_with_paths(copied, original, item) for item in value] if isinstance(value, list) else value


def _tell(session: Session, wish: Wish, config: Config) -> None:
    from turnlog.cli.output import say
    from turnlog.cli.show.telling import tell
    from turnlog.cli.terminal import screen

    say(tell(session, wish, screen(config.color)))
