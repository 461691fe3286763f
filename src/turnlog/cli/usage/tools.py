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
    from turnlog.cli.config import load
    from turnlog.errors import UsageError

    config = load()
    if session is None:
        _of_all(config, project, since, only_failures, as_json)
        return
    if project is not None or since is not None:
        raise UsageError("--project and --since choose among all sessions; leave SESSION out")
    _of_session(session, config, only_failures, as_json)


def _of_session(name: str, config: Config, only_failures: bool, as_json: bool) -> None:
    from turnlog.cli.named import opened
    from turnlog.cli.output import dump, say
    from turnlog.cli.terminal import screen
    from turnlog.cli.usage.toolwork import document, messages, table
    from turnlog.session.tallies import failures, tallies

    with opened(name, config) as session:
        found = tallies(session)
        said = failures(session) if only_failures or as_json else []
    if as_json:
        dump(document(found, said))
    else:
        say(messages(said, screen(config.color)) if only_failures else table(found, screen(config.color)))


def _of_all(config: Config, project: str | None, since: str | None, only_failures: bool, as_json: bool) -> None:
    from turnlog.cli.indexed import sessions_of
    from turnlog.cli.output import dump, say
    from turnlog.cli.stored import store
    from turnlog.cli.terminal import screen
    from turnlog.cli.usage.toolwork import document, failing, table
    from turnlog.cli.when import beginning
    from turnlog.store.insight.tools import tallies

    start = beginning(since) if since is not None else None
    with store(config) as index:
        ids = None if project is None else sessions_of(index.db, project)
        found = tallies(index.db, ids, start)
    if as_json:
        dump(document(found, None))
    else:
        say(failing(found, screen(config.color)) if only_failures else table(found, screen(config.color)))
