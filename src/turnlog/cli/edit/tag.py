"""`turnlog tag`: give a session a tag, or remove its tag."""

from __future__ import annotations

import click

from turnlog.errors import UsageError


@click.command()
@click.argument("session")
@click.argument("tag", required=False)
@click.option("--remove", is_flag=True, help="Remove the tag.")
def tag(session: str, tag: str | None, remove: bool) -> None:
    """Give a session a tag that Claude Code shows as #TAG in its own list.

    A session has at most one tag; a new tag replaces the old one. `turnlog undo` reverts the change if nothing has been
    written to the file since then. SESSION is a path, an id, an id prefix, a title, or `last` (the most recent
    session).

    \b
    Examples:
      turnlog tag last urgent
      turnlog tag bee7dbd3 --remove
    """
    from turnlog.api.changes import tag_session
    from turnlog.api.sentences import describe_label, list_label_remarks
    from turnlog.cli.output import print_lines, print_remark

    if remove is (tag is not None):
        raise UsageError("use either TAG or --remove")
    label = tag_session(session, tag, notify=print_remark)
    print_lines([describe_label(label, is_tag=True)])
    for text in list_label_remarks(label):
        print_remark(text)
