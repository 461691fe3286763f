"""`turnlog show`: print one session in readable form."""

from __future__ import annotations

import click


@click.command()
@click.argument("session")
@click.option("-t", "--turn", metavar="N|A..B", help="Show only this turn or range of turns, numbered from 1.")
@click.option("--thinking", is_flag=True, help="Also show thinking.")
@click.option("--full", is_flag=True, help="Show prompts, answers, calls and results in full.")
@click.option(
    "--branch",
    metavar="K|UUID|all",
    help="Branch to show, by number or by the uuid of its last entry; `all` shows every branch.",
)
@click.option("--redact", is_flag=True, help="Replace API keys, tokens and passwords with placeholders.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def show(
    session: str, turn: str | None, thinking: bool, full: bool, branch: str | None, redact: bool, as_json: bool
) -> None:
    """Show a session: its turns, its calls with shortened results, and its sub-agents.

    If the conversation has several branches, as after a rewind, the output shows the branch that Claude Code would
    resume. SESSION is a path, an id, an id prefix, a title, or `last` (the most recent session).

    \b
    Examples:
      turnlog show last
      turnlog show bee7dbd3 --turn 2 --full
      turnlog show "Fix cent rounding" --thinking
      turnlog show last --full --redact > for-a-colleague.txt
      turnlog show last --json | jq .usage
    """
    from turnlog.api.config import load_config
    from turnlog.api.documents import to_document
    from turnlog.api.lookup import open_session
    from turnlog.api.session import describe_session, open_redacted_session
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.show.session_lines import ShowOptions, render_session_lines
    from turnlog.cli.terminal import detect_screen

    config = load_config()
    if as_json:
        print_json(to_document(describe_session(session, redact=redact, config=config, notify=print_remark)))
        return
    options, screen = ShowOptions(turn, branch, thinking, full), detect_screen(config.color)
    if redact:
        with open_redacted_session(session, config, print_remark) as copy:
            print_lines(render_session_lines(copy.session, options, screen))
    else:
        with open_session(session, config, print_remark) as found:
            print_lines(render_session_lines(found, options, screen))
