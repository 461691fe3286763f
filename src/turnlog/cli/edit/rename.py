"""`turnlog rename`: give a session a title."""

from __future__ import annotations

import click


@click.command()
@click.argument("session")
@click.argument("title")
def rename(session: str, title: str) -> None:
    """Give a session a title that Claude Code shows in its own list.

    The title is appended to the file; existing lines don't change. If the session is open, use /rename in Claude Code
    instead; otherwise, Claude Code may write the old title again. `turnlog undo` removes the title if nothing has been
    written to the file since then. SESSION is a path, an id, an id prefix, a title, or `last` (the most recent
    session).

    \b
    Examples:
      turnlog rename last "Fix cent rounding"
      turnlog rename bee7dbd3 "Checkout, second try"
    """
    from turnlog.api.changes import rename_session
    from turnlog.api.sentences import describe_label, list_label_remarks
    from turnlog.cli.output import print_lines, print_remark

    label = rename_session(session, title, notify=print_remark)
    print_lines([describe_label(label)])
    for text in list_label_remarks(label):
        print_remark(text)
