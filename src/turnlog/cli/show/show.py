"""`turnlog show`: one session, readable."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def show(session: str, turn: str | None, thinking: bool, full: bool, branch: str | None, as_json: bool) -> None:
    """Show one session: its turns, calls with results in short, sub-agents below their calls.

    SESSION is a path, an id or the start of one, a title, or `last`. Where a conversation branches (after a
    rewind), the branch that the client would resume is shown.

    \b
    Examples:
      turnlog show last
      turnlog show bee7dbd3 --turn 2 --full
      turnlog show "Fix cent rounding" --thinking
      turnlog show last --json | jq .usage
    """
    from turnlog.cli.config import load
    from turnlog.cli.named import opened
    from turnlog.cli.output import dump
    from turnlog.cli.show.telling import Wish

    config = load()
    with opened(session, config) as found:
        if as_json:
            from turnlog.session.facts import facts

            dump(facts(found))
        else:
            _tell(found, Wish(turn, branch, thinking, full), config)


def _tell(session: Session, wish: Wish, config: Config) -> None:
    from turnlog.cli.output import say
    from turnlog.cli.show.telling import tell
    from turnlog.cli.terminal import screen

    say(tell(session, wish, screen(config.color)))
