"""`turnlog delete`: move sessions to the trash, or empty the trash."""

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
@click.option("-y", "--yes", is_flag=True, help="Skip the confirmation prompt (required without a terminal).")
@click.option("-n", "--dry-run", is_flag=True, help="Show what would be deleted, without deleting it.")
@click.option("--history", is_flag=True, help="Also remove the session's prompts from history.jsonl.")
@click.option(
    "--force",
    is_flag=True,
    help="Also delete sessions that may be open in Claude Code. Sessions known to be open are never deleted.",
)
@click.option("--empty-trash", is_flag=True, help="Permanently delete the sessions in the trash.")
@click.option(
    "--older-than",
    metavar="DAYS",
    type=click.FloatRange(min=0),
    help="With --empty-trash, delete only sessions that were moved to the trash at least DAYS days ago.",
)
def delete(
    sessions: tuple[str, ...],
    yes: bool,
    dry_run: bool,
    history: bool,
    force: bool,
    empty_trash: bool,
    older_than: float | None,
) -> int:
    """Move sessions, and everything that belongs to them, to the trash.

    This includes sub-agents, large outputs, file copies, to-dos, tasks, logs, and plans that no other session uses.
    `turnlog undelete` restores everything. A session that is open in Claude Code is not deleted. Old versions of Claude
    Code don't record which sessions they have open. If an old version is running in the session's folder, turnlog asks
    for confirmation; scripts must use --force. SESSION is a path, an id, an id prefix, a title, or `last` (the most
    recent session).

    \b
    Examples:
      turnlog delete bee7dbd3
      turnlog delete bee7dbd3 0ddba11e --dry-run
      turnlog delete last --yes --history
      turnlog delete --empty-trash --older-than 30
    """
    if empty_trash is bool(sessions):
        raise UsageError("either name sessions to delete or use --empty-trash")
    if older_than is not None and not empty_trash:
        raise UsageError("--older-than requires --empty-trash")
    if empty_trash:
        return _empty_trash(older_than or 0, yes=yes, dry_run=dry_run)
    return _delete_sessions(sessions, yes=yes, dry_run=dry_run, history=history, force=force)


def _delete_sessions(names: tuple[str, ...], *, yes: bool, dry_run: bool, history: bool, force: bool) -> int:
    from turnlog.api.trash import delete_sessions
    from turnlog.cli.output import print_lines, print_remark

    def confirm(plan: Deletions) -> bool:
        summaries = [_format_summary(item, history) for item in plan.sessions]
        return _ask_agreement([*summaries, *(f"The session may be open: {doubt}." for doubt in plan.doubts)], "Delete?")

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
    print_remark(f"`turnlog undelete` restores {'it' if len(done.sessions) == 1 else 'them'}.")
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
    scope = "all sessions in the trash" if not days else f"sessions that were deleted {days:g} days ago or earlier"
    if not yes and not _ask_agreement([f"This permanently removes {scope}."], "Continue?"):
        print_remark("Nothing was removed.")
        return 1
    done = empty_trash(days)
    count = format_count(len(done.sessions), "session")
    print_lines([f"Permanently removed {count}, {format_size(done.bytes_freed)}"])
    return 0


def _ask_agreement(lines: list[str], question: str) -> bool:
    """Ask the user to confirm; fail without a terminal."""
    from turnlog.cli.edit.doubts import can_ask
    from turnlog.cli.output import print_remark
    from turnlog.cli.progress import pause_progress

    if not can_ask():
        raise UsageError(
            "can't ask for confirmation without a terminal; use --yes, or --dry-run to see what would be deleted"
        )
    for text in lines:
        print_remark(text)
    with pause_progress():
        return click.confirm(question, default=False, err=True)


def _format_summary(item: SessionDeletion, history: bool) -> str:
    """Describe a session in one line: id, title, and the amount of data."""
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
        yield "  " + to_visible_line(f"{path} is kept: another session uses it")
