"""`turnlog board`: list which sessions need you, are working, are idle or ended today."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from turnlog.errors import UsageError

if TYPE_CHECKING:
    from turnlog.api.watch import BoardSession
    from turnlog.cli.terminal import TerminalScreen


@click.command()
@click.option(
    "-p", "--project", metavar="FOLDER", help="Show only sessions in this folder, or in folders with this name."
)
@click.option("--once", is_flag=True, help="Print the board once, and don't react to keys.")
@click.option("--demo", is_flag=True, help="Show a made-up session, which is played in a temporary folder.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def board(project: str | None, once: bool, demo: bool, as_json: bool) -> None:
    """List which sessions need you, are working, are idle or ended today.

    Each session is shown with what it is doing and since when, how full its context is, and its cost; if a state is
    only inferred, the reason is shown too. The session that has waited longest is listed first. On a terminal, the
    board follows the sessions: the arrow keys choose a session, Enter or o opens it in the browser, c copies the
    command that resumes it, q quits. In a pipe, and with --once, the board is printed once.

    \b
    Examples:
      turnlog board
      turnlog board --project webshop --once
      turnlog board --json | jq -r '.sessions[] | select(.column == "needs") | .title'
    """
    from turnlog.cli.live.key_terminal import can_read_keys
    from turnlog.cli.terminal import is_on_terminal

    has_keys = is_on_terminal() and can_read_keys()
    if demo and (once or as_json or not has_keys):
        raise UsageError("--demo requires a terminal and can't be combined with --once or --json")
    if has_keys and not once and not as_json:
        from turnlog.cli.live.board_screen import show_board

        show_board(project, demo=demo)
        return
    from turnlog.api.documents import to_document
    from turnlog.api.watch import list_board
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen

    found = list_board(project)
    if as_json:
        print_json(to_document(found))
    else:
        print_lines(render_board(found.sessions, detect_screen()))


def render_board(sessions: Sequence[BoardSession], screen: TerminalScreen) -> Iterator[str]:
    """Render the board, column by column."""
    from turnlog.cli.live.session_table import COLUMN_TITLES, EMPTY_BOARD_LINES, render_session

    if not sessions:
        yield from EMPTY_BOARD_LINES
        return
    now = datetime.now(UTC)
    is_first = True
    for column, title in COLUMN_TITLES.items():
        found = [session for session in sessions if session.column == column]
        if found:
            yield from [] if is_first else [""]
            is_first = False
            yield screen.paint(f"{title} ({len(found)})", "bold")
            for session in found:
                yield from render_session(session, screen, now)
