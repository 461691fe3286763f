"""`turnlog tools`: calls by tool, of one session or of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.cli.config import Config


@click.command()
@click.argument("session", required=False)
@click.option("-p", "--project", metavar="P", help="Only sessions of this folder and those below it, or of that name.")
@click.option("--since", metavar="DAY", help="Only calls from this day on: 2026-11-03, yesterday, 30d.")
@click.option("--failures", "only_failures", is_flag=True, help="What calls failed with, the most frequent first.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def tools(session: str | None, project: str | None, since: str | None, only_failures: bool, as_json: bool) -> None:
    """Count calls by tool and by MCP server: how many, how they ended, how long they took.

    SESSION is a path, an id or the start of one, a title, or `last`; without one, all sessions are counted, out
    of the index. Sub-agents are included; a call that several files hold counts once. What time was work and what
    was waiting for a person can't be told apart.

    \b
    Examples:
      turnlog tools
      turnlog tools last
      turnlog tools last --failures
      turnlog tools --project webshop --since 7d --json
    """
    from turnlog.cli.config import load_config
    from turnlog.errors import UsageError

    config = load_config()
    if session is None:
        _print_all_tools(config, project, since, only_failures, as_json)
        return
    if project is not None or since is not None:
        raise UsageError("--project and --since choose among all sessions; leave SESSION out")
    _print_session_tools(session, config, only_failures, as_json)


def _print_session_tools(name: str, config: Config, only_failures: bool, as_json: bool) -> None:
    from turnlog.cli.named import open_named_session
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen
    from turnlog.cli.usage.toolwork import render_failure_messages, render_tool_table, to_tools_document
    from turnlog.session.tallies import count_calls_by_tool, count_failure_messages

    with open_named_session(name, config) as session:
        found = count_calls_by_tool(session)
        said = count_failure_messages(session) if only_failures or as_json else []
    if as_json:
        print_json(to_tools_document(found, said))
    else:
        print_lines(
            render_failure_messages(said, detect_screen(config.color))
            if only_failures
            else render_tool_table(found, detect_screen(config.color))
        )


def _print_all_tools(
    config: Config, project: str | None, since: str | None, only_failures: bool, as_json: bool
) -> None:
    from turnlog.cli.indexed import find_project_sessions
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.stored import open_index
    from turnlog.cli.terminal import detect_screen
    from turnlog.cli.usage.toolwork import render_failing_tools, render_tool_table, to_tools_document
    from turnlog.cli.when import to_day_start
    from turnlog.store.insight.tools import tally_tool_calls

    start = to_day_start(since) if since is not None else None
    with open_index(config) as index:
        ids = None if project is None else find_project_sessions(index.db, project)
        found = tally_tool_calls(index.db, ids, start)
    if as_json:
        print_json(to_tools_document(found, None))
    else:
        print_lines(
            render_failing_tools(found, detect_screen(config.color))
            if only_failures
            else render_tool_table(found, detect_screen(config.color))
        )
