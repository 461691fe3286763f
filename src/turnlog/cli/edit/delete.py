"""`turnlog delete`: sessions into the trash, and the trash emptied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from turnlog.errors import UsageError

if TYPE_CHECKING:
    from turnlog.api.trash import Deletions, SessionDeletion

_MAX_TITLE_CHARS = 200


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
    if empty_trash is bool(sessions):
        raise UsageError("name sessions to delete, or use --empty-trash")
    if older_than is not None and not empty_trash:
        raise UsageError("--older-than belongs to --empty-trash")
    if empty_trash:
        return _empty_trash(older_than or 0, yes=yes, dry_run=dry_run)
    return _delete_sessions(sessions, yes=yes, dry_run=dry_run, history=history, force=force)


def _delete_sessions(names: tuple[str, ...], *, yes: bool, dry_run: bool, history: bool, force: bool) -> int:
    from turnlog.api.trash import delete_sessions
    from turnlog.cli.output import print_lines, print_remark

    def confirm(plan: Deletions) -> bool:
        summaries = [_format_summary(item, history) for item in plan.sessions]
        return _ask_agreement([*summaries, *(f"Perhaps it is open: {words}." for words in plan.doubts)], "Delete?")

    done = delete_sessions(
        names,
        history=history,
        force=force,
        dry_run=dry_run,
        confirm=None if yes else confirm,
        notify=print_remark,
    )
    if dry_run:
        print_lines(text for item in done.sessions for text in _list_paths(item, history))
        return 0
    if not done.deleted:
        print_remark("Nothing was deleted.")
        return 1
    print_lines(f"Deleted {_format_summary(item, history)}" for item in done.sessions)
    print_remark(f"`turnlog undelete` brings {'it' if len(done.sessions) == 1 else 'them'} back.")
    return 0


def _empty_trash(days: float, *, yes: bool, dry_run: bool) -> int:
    from turnlog.api.trash import empty_trash
    from turnlog.cli.output import print_lines, print_remark
    from turnlog.cli.terminal import to_visible_line
    from turnlog.render.figures import format_count, format_size

    if dry_run:
        print_lines(
            f"{item.name}  {to_visible_line(item.title or '')[:_MAX_TITLE_CHARS]}"
            for item in empty_trash(days, dry_run=True).sessions
        )
        return 0
    what = "the trash" if not days else f"from the trash what was deleted {days:g} days ago or earlier"
    if not yes and not _ask_agreement([f"{'Empties' if not days else 'Removes'} {what}, for good."], "Go on?"):
        print_remark("Nothing was removed.")
        return 1
    done = empty_trash(days)
    print_lines([f"Removed {format_count(len(done.sessions), 'session')} for good, {format_size(done.bytes_freed)}"])
    return 0


def _ask_agreement(words: list[str], question: str) -> bool:
    """Ask whether the user wants it; refused where nobody can be asked."""
    from turnlog.cli.edit.doubts import can_ask
    from turnlog.cli.output import print_remark

    if not can_ask():
        raise UsageError("nobody can be asked here; say --yes, or --dry-run to see what would go")
    for text in words:
        print_remark(text)
    return click.confirm(question, default=False, err=True)


def _format_summary(item: SessionDeletion, history: bool) -> str:
    """Describe a session in one line: id, title, and how much goes with it."""
    from turnlog.cli.terminal import to_visible_line
    from turnlog.render.figures import format_count, format_size

    amount = f"{format_count(item.files, 'file')}, {format_size(item.bytes)}"
    if history:
        amount += f", {format_count(item.history_lines, 'line')} of history.jsonl"
    return to_visible_line(f"{item.session_id}  {(item.title or '(no title)')[:_MAX_TITLE_CHARS]}  ({amount})")


def _list_paths(item: SessionDeletion, history: bool) -> Iterator[str]:
    from turnlog.cli.terminal import to_visible_line

    yield _format_summary(item, history)
    for path in item.paths:
        yield "  " + to_visible_line(str(path))
    for path in item.shared_plans:
        yield "  " + to_visible_line(f"{path} stays: another session uses it")
