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
    from turnlog.api.config import load_config
    from turnlog.cli.edit.append_report import print_appended
    from turnlog.cli.edit.undo import open_undo_store
    from turnlog.cli.named_sessions import locate_named_session
    from turnlog.edit.rename import rename_session as give

    done = give(locate_named_session(session, load_config()), title, open_undo_store())
    print_appended(done, f"is now called {done.value!r}")
