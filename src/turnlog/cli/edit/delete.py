"""`turnlog delete`: sessions into the trash, and the trash emptied."""

from __future__ import annotations

import click


@click.command()
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@click.option("-y", "--yes", is_flag=True, help="Don't ask; needed where nobody can be asked.")
@click.option("-n", "--dry-run", is_flag=True, help="Only list what would go.")
@click.option("--history", is_flag=True, help="Also take out of history.jsonl what was typed in it.")
@click.option("--force", is_flag=True, help="Even if a client may have it open; never if it surely has.")
@click.option("--empty-trash", is_flag=True, help="Remove for good what was deleted.")
@click.option("--older-than", metavar="DAYS", type=click.FloatRange(min=0), help="Only what was deleted so long ago.")
def delete(
    sessions: tuple[str, ...],
    yes: bool,
    dry_run: bool,
    history: bool,
    force: bool,
    empty_trash: bool,
    older_than: float | None,
) -> int:
    """Delete sessions with everything that belongs to them, into the trash.

    That is sub-agents, large outputs, copies of files, to-dos, tasks, logs, and plans that no other session uses.
    `turnlog undelete` brings all of it back as it was. A session that is open in a client is not deleted. Old clients
    do not say what they have open: where one runs in the session's folder you are asked, and a script needs --force.
    SESSION is a path, an id or the start of one, a title, or `last`.

    \b
    Examples:
      turnlog delete bee7dbd3
      turnlog delete bee7dbd3 0ddba11e --dry-run
      turnlog delete last --yes --history
      turnlog delete --empty-trash --older-than 30
    """
    from turnlog.cli.config import load_config
    from turnlog.cli.edit.deleting import DeleteOptions, delete_sessions, purge_trash
    from turnlog.errors import UsageError

    if empty_trash is bool(sessions):
        raise UsageError("name sessions to delete, or use --empty-trash")
    if older_than is not None and not empty_trash:
        raise UsageError("--older-than belongs to --empty-trash")
    wish = DeleteOptions(yes=yes, dry_run=dry_run, history=history, force=force)
    return purge_trash(older_than or 0, wish) if empty_trash else delete_sessions(sessions, wish, load_config())
