"""`turnlog tag`: give a session a tag, or take it away."""

from __future__ import annotations

import click


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
    from turnlog.api.config import load_config
    from turnlog.cli.edit.append_report import print_appended
    from turnlog.cli.edit.undo import open_undo_store
    from turnlog.cli.named_sessions import locate_named_session
    from turnlog.edit.tag import tag_session as give
    from turnlog.errors import UsageError

    if remove is (tag is not None):
        raise UsageError("give a tag, or --remove")
    done = give(locate_named_session(session, load_config()), tag, open_undo_store())
    print_appended(done, f"is now tagged #{done.value}" if done.value else "has no tag any more")
