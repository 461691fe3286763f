"""`turnlog undelete`: bring a session back out of the trash."""

from __future__ import annotations

import click


@click.command()
@click.argument("session", required=False)
@click.option("--last", is_flag=True, help="The session that was deleted last.")
@click.option("--force", is_flag=True, help="Set files aside that stand in the way.")
@click.option("--list", "listing", is_flag=True, help="List the deleted sessions.")
@click.option("--json", "as_json", is_flag=True, help="With --list: print JSON (docs/json.md).")
def undelete(session: str | None, last: bool, force: bool, listing: bool, as_json: bool) -> int:
    """Bring back a deleted session with everything that belonged to it, exactly as it was.

    SESSION is an id or the start of one, a title, or the name that --list shows. Nothing is overwritten. Lines that a
    client went on to write in the old place follow the original; another file there is set aside with --force, else
    nothing is brought back. Without a word, the deleted sessions are listed.

    \b
    Examples:
      turnlog undelete --list
      turnlog undelete bee7dbd3
      turnlog undelete --last
    """
    from turnlog.cli.config import load_config
    from turnlog.cli.edit.deleting import open_trash
    from turnlog.cli.edit.undeleting import render_trash_table, restore_deleted_session, to_trash_document
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen
    from turnlog.errors import UsageError

    if sum((session is not None, last, listing)) > 1 or (as_json and (last or session is not None)):
        raise UsageError("give a session, --last or --list, only one of them; --json goes with --list")
    if force and session is None and not last:
        raise UsageError("--force goes with a session or --last")
    if session is not None or last:
        return restore_deleted_session(session, open_trash(), force=force)
    found = open_trash().list_entries()
    if as_json:
        print_json(to_trash_document(found))
    else:
        print_lines(render_trash_table(found, detect_screen(load_config().color)))
    return 0
