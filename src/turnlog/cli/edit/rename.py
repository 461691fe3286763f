"""`turnlog rename`: give a session a title."""

from __future__ import annotations

import click


@click.command()
@click.argument("session")
@click.argument("title")
def rename(session: str, title: str) -> None:
    """Give a session a title that Claude Code shows in its own list.

    The title is appended to the file; existing lines don't change. SESSION is a path, an id or the start of one, a
    title, or `last`. If the session is open, Claude Code may write its old title again; use /rename there instead.
    `turnlog undo` removes the title, as long as nothing else was written to the file.

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
