"""`turnlog rename`: give a session a title."""

from __future__ import annotations

import click


@click.command()
@click.argument("session")
@click.argument("title")
def rename(session: str, title: str) -> None:
    """Give a session a title, the way the client does, so that its own list shows it.

    The title is appended; nothing that stands in the file is changed. SESSION is a path, an id or the start of one,
    its title, or `last`. A client that has the session open may bring its old title back; use /rename in it.
    `turnlog undo` takes the title away again, as long as nothing else was written.

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
