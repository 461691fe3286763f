"""`turnlog fork`: a new session that goes on from any point of another."""

from __future__ import annotations

import click


@click.command()
@click.argument("session")
@click.option("--at", "at", required=True, metavar="POINT", help="The last thing that is kept (see above).")
@click.option("--portable", is_flag=True, help="Write it so that every version of the client resumes all of it.")
@click.option("--title", help="The title of the new session; else `Fork of …`.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say where it would go on.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def fork(session: str, at: str, portable: bool, title: str | None, dry_run: bool, as_json: bool) -> None:
    """Make a new session that goes on from any message, any branch, or just before a compaction.

    What leads to the point is kept, with what belongs to it; what came after it and other branches are left out. Before
    a compaction the whole earlier conversation is back, word for word. The session itself is not changed. SESSION is a
    path, an id or the start of one, a title, or `last`.

    \b
    The point is
      7              the end of turn 7, as `turnlog show` numbers them
      3f2a09c1       the entry whose uuid begins so, with the results of its calls
      compaction:2   just before the second compaction; compaction:last before the last one
      leaf:2         the end of the second branch, as `turnlog show --branch` numbers them

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
