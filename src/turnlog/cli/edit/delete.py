"""`turnlog delete`: sessions into the trash, and the trash emptied."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

import click

from turnlog.api.config import Config, data_dir
from turnlog.cli.edit.doubts import can_ask
from turnlog.cli.named_sessions import locate_named_session
from turnlog.cli.output import print_lines, print_remark
from turnlog.cli.terminal import to_visible_line
from turnlog.cli.time_format import format_size
from turnlog.edit.trash.delete import DeletionPlan, delete_session, plan_deletion, refuse_busy_deletion
from turnlog.edit.trash.trash import Trash
from turnlog.errors import UsageError
from turnlog.render.figures import format_count


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
    from turnlog.api.config import load_config
    from turnlog.errors import UsageError

    if empty_trash is bool(sessions):
        raise UsageError("name sessions to delete, or use --empty-trash")
    if older_than is not None and not empty_trash:
        raise UsageError("--older-than belongs to --empty-trash")
    wish = DeleteOptions(yes=yes, dry_run=dry_run, history=history, force=force)
    return purge_trash(older_than or 0, wish) if empty_trash else delete_sessions(sessions, wish, load_config())


_MAX_TITLE_CHARS = 200


class DeleteOptions(NamedTuple):
    """How to delete."""

    yes: bool = False
    dry_run: bool = False
    history: bool = False
    force: bool = False


def open_trash() -> Trash:
    """The trash of this machine."""
    return Trash(data_dir() / "trash")


def delete_sessions(names: tuple[str, ...], wish: DeleteOptions, config: Config) -> int:
    """Delete sessions, after everything about all of them was found in order."""
    paths = list(dict.fromkeys(locate_named_session(name, config) for name in names))
    found = [plan_deletion(path) for path in paths]
    if wish.dry_run:
        print_lines(text for item in found for text in _list_paths(item, wish))
        return 0
    asks = not wish.yes and can_ask()
    doubts = [sign.words for item in found for sign in refuse_busy_deletion(item, force=wish.force, asked=asks)]
    remarks = [_format_summary(item, wish) for item in found]
    perhaps = [f"Perhaps it is open: {words}." for words in dict.fromkeys(doubts)]
    if not _ask_agreement([*remarks, *perhaps], "Delete?", wish):
        print_remark("Nothing was deleted.")
        return 1
    for path, words in zip(paths, remarks, strict=True):
        delete_session(path, open_trash(), history=wish.history, force=wish.force, asked=asks)
        print_lines([f"Deleted {words}"])
    print_remark("`turnlog undelete` brings it back." if len(paths) == 1 else "`turnlog undelete` brings them back.")
    return 0


def purge_trash(days: float, wish: DeleteOptions) -> int:
    """Remove for good what was deleted."""
    place, age = open_trash(), timedelta(days=min(days, 36500))
    what = "the trash" if not days else f"from the trash what was deleted {days:g} days ago or earlier"
    if wish.dry_run:
        print_lines(
            f"{entry.name}  {to_visible_line(entry.manifest.title or '')[:_MAX_TITLE_CHARS]}"
            for entry in place.list_ripe(age)
        )
        return 0
    if not _ask_agreement([f"{'Empties' if not days else 'Removes'} {what}, for good."], "Go on?", wish):
        print_remark("Nothing was removed.")
        return 1
    gone = place.empty(age)
    print_lines(
        [
            (
                f"Removed {format_count(len(gone), 'session')} for good, "
                f"{format_size(sum(entry.manifest.size for entry in gone))}"
            )
        ]
    )
    return 0


def _ask_agreement(words: list[str], question: str, wish: DeleteOptions) -> bool:
    """Whether the user wants it, asked where that is possible."""
    if wish.yes:
        return True
    if not can_ask():
        raise UsageError("nobody can be asked here; say --yes, or --dry-run to see what would go")
    for text in words:
        print_remark(text)
    return click.confirm(question, default=False, err=True)


def _format_summary(found: DeletionPlan, wish: DeleteOptions) -> str:
    """A session in one line: id, title, and how much goes with it."""
    files = [path for path in found.paths if path.is_symlink() or not path.is_dir()]
    amount = f"{format_count(len(files), 'file')}, {format_size(sum(path.lstat().st_size for path in files))}"
    if wish.history:
        amount += f", {format_count(found.history_lines, 'line')} of history.jsonl"
    return to_visible_line(f"{found.target.session_id}  {(found.title or '(no title)')[:_MAX_TITLE_CHARS]}  ({amount})")


def _list_paths(found: DeletionPlan, wish: DeleteOptions) -> Iterator[str]:
    yield _format_summary(found, wish)
    for path in found.paths:
        yield "  " + to_visible_line(str(path))
    for path in found.shared_plans:
        yield "  " + to_visible_line(f"{path} stays: another session uses it")
