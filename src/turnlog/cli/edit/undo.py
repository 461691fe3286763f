"""`turnlog undo`: take back what turnlog has changed."""

from __future__ import annotations

import click


@click.command()
@click.argument("change", required=False)
@click.option("--list", "listing", is_flag=True, help="List what was changed, and what can be undone.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would be put back, and what speaks against it.")
@click.option("--force", is_flag=True, help="Also where a file was written since; what is there now is kept.")
@click.option("--prune", type=click.FloatRange(0), metavar="DAYS", help="Free the space of changes older than DAYS.")
@click.option("--json", "as_json", is_flag=True, help="With --list: print JSON (docs/json.md).")
def undo(change: str | None, listing: bool, dry_run: bool, force: bool, prune: float | None, as_json: bool) -> None:
    """Take back the last change that turnlog made to your files, byte for byte, with modes and times.

    CHANGE is a name that --list shows, or the start of one, or a session's id: then its last change. Before turnlog
    changes a file in place it keeps the original; nothing of that goes until you say --prune. A file that was written
    since is not put back, unless by force. Deleted sessions come back with `turnlog undelete`.

    \b
    Examples:
      turnlog undo
      turnlog undo --list
      turnlog undo bee7dbd3 --dry-run
      turnlog undo --prune 30
    """
    from turnlog.cli.config import load_config
    from turnlog.cli.edit import undoing
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen
    from turnlog.errors import UsageError

    if listing + (prune is not None) + (change is not None) > 1:
        raise UsageError("give a change, --list or --prune DAYS, only one of them")
    if as_json and not listing:
        raise UsageError("--json belongs to --list")
    store = undoing.open_undo_store()
    if prune is not None:
        undoing.prune_changes(store, prune, dry_run=dry_run)
    elif as_json:
        print_json(undoing.to_changes_document(store))
    elif listing:
        print_lines(undoing.render_change_table(store, detect_screen(load_config().color)))
    else:
        undoing.undo_change(store, change, dry_run=dry_run, force=force)
