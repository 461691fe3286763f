"""`turnlog fork`: create a new session that continues from any point in another."""

from __future__ import annotations

import click


@click.command()
@click.argument("session")
@click.option(
    "--at", "at", required=True, metavar="POINT", help="Point to fork from, in one of the forms listed above."
)
@click.option(
    "--portable", is_flag=True, help="Write the fork in a form that every version of Claude Code can fully resume."
)
@click.option("--title", help="Title of the fork (default: `Fork of …`).")
@click.option("-n", "--dry-run", is_flag=True, help="Show where the fork would continue, without creating it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def fork(session: str, at: str, portable: bool, title: str | None, dry_run: bool, as_json: bool) -> None:
    """Create a new session that continues from a message, from a branch, or from just before a compaction.

    The fork keeps everything up to POINT and leaves out later messages and other branches. A fork from before a
    compaction contains the earlier conversation word for word. The original session is not changed. SESSION is a path,
    an id, an id prefix, a title, or `last` (the most recent session).

    \b
    POINT is one of these:
      7              the end of turn 7, numbered as in `turnlog show`
      3f2a09c1       the entry whose uuid starts with 3f2a09c1, with the results of its calls
      compaction:2   just before the second compaction (compaction:last: the latest one)
      leaf:2         the end of the second branch, numbered as in `turnlog show --branch`

    \b
    Examples:
      turnlog fork last --at 7
      turnlog fork bee7dbd3 --at compaction:last --title "Before the summary"
      turnlog fork last --at leaf:1 --portable
    """
    from turnlog.api.clones import fork_session
    from turnlog.api.documents import to_document
    from turnlog.api.sentences import describe_fork, list_copy_remarks
    from turnlog.cli.output import print_json, print_lines, print_remark

    result = fork_session(session, at, title=title, portable=portable, dry_run=dry_run, notify=print_remark)
    if as_json:
        print_json(to_document(result))
        return
    for text in list_copy_remarks(result.made):
        print_remark(text)
    print_lines(describe_fork(result))
