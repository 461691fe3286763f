"""`turnlog tag`: give a session a tag, or take it away."""

from __future__ import annotations

import click

from turnlog.errors import UsageError


@click.command()
@click.argument("session")
@click.argument("tag", required=False)
@click.option("--remove", is_flag=True, help="Take the tag away.")
def tag(session: str, tag: str | None, remove: bool) -> None:
    """Give a session a tag, the way the client does: its own list shows it as #TAG.

    A session has one tag; a new one takes the place of the old one. SESSION is a path, an id or the start of one, a
    title, or `last`. `turnlog undo` takes it back, as long as nothing else was written.

    \b
    Examples:
      turnlog tag last urgent
      turnlog tag bee7dbd3 --remove
    """
    from turnlog.api.changes import tag_session
    from turnlog.api.sentences import describe_label, list_label_remarks
    from turnlog.cli.output import print_lines, print_remark

    if remove is (tag is not None):
        raise UsageError("give a tag, or --remove")
    label = tag_session(session, tag, notify=print_remark)
    print_lines([describe_label(label, is_tag=True)])
    for text in list_label_remarks(label):
        print_remark(text)
