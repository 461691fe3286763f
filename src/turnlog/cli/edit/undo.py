"""`turnlog undo`: revert changes that turnlog made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from turnlog.errors import UsageError

if TYPE_CHECKING:
    from turnlog.api.changes import Change, UndoResult

_MAX_WORDS_CHARS = 200
_STATE_WORDS = {"begun": "interrupted", "undone": "undone"}
_LATER_WORDS = {
    "returned": "modified after the change; kept",
    "joined": "Claude Code continued this session; the new lines follow the original ones",
    "aside": "modified after the change; moved to the folder of the change",
}
_DEFINITION = "kept: size of the originals that turnlog keeps for a change, or of its result after an undo"


@click.command()
@click.argument("change", required=False)
@click.option("--list", "listing", is_flag=True, help="List the changes that can be undone.")
@click.option(
    "-n", "--dry-run", is_flag=True, help="Show what would be restored, or what prevents it, without changing anything."
)
@click.option(
    "--force",
    is_flag=True,
    help="Undo the change even if a file was modified after it, and keep a copy of the modified file.",
)
@click.option(
    "--prune",
    type=click.FloatRange(0),
    metavar="DAYS",
    help="Free space by removing the original files kept for changes older than DAYS days.",
)
@click.option("--json", "as_json", is_flag=True, help="With --list, print JSON (see docs/json.md).")
def undo(change: str | None, listing: bool, dry_run: bool, force: bool, prune: float | None, as_json: bool) -> None:
    """Undo a change that turnlog made to your files, by default the latest one.

    Files are restored byte for byte, with their modes and times. Until you use --prune, turnlog keeps the original of
    every file that it changes in place. A file that was modified after the change is not restored unless you use
    --force. CHANGE is a name that --list shows, a prefix of that name, or a session id, which selects the latest change
    to that session. To restore deleted sessions, use `turnlog undelete`.

    \b
    Examples:
      turnlog undo
      turnlog undo --list
      turnlog undo bee7dbd3 --dry-run
      turnlog undo --prune 30
    """
    from turnlog.api.changes import list_changes
    from turnlog.api.documents import to_document
    from turnlog.cli.output import print_json

    if listing + (prune is not None) + (change is not None) > 1:
        raise UsageError("use only one of CHANGE, --list and --prune DAYS")
    if as_json and not listing:
        raise UsageError("--json requires --list")
    if prune is not None:
        _prune_changes(prune, dry_run=dry_run)
    elif as_json:
        print_json(to_document(list_changes()))
    elif listing:
        _print_changes()
    else:
        _undo_change(change, dry_run=dry_run, force=force)


def _undo_change(name: str | None, *, dry_run: bool, force: bool) -> None:
    from turnlog.api.changes import undo as undo_change
    from turnlog.cli.edit.doubts import agrees_to
    from turnlog.cli.output import print_lines, print_remark
    from turnlog.cli.terminal import to_visible_line

    done = undo_change(
        name,
        force=force,
        dry_run=dry_run,
        confirm=lambda doubts: agrees_to(doubts, "Undo it anyway?"),
    )
    if dry_run:
        print_lines(_describe_plan(done))
        return
    print_lines([to_visible_line(f"Undone: {_format_summary(done.change)}")])
    for file in done.later_files:
        print_remark(f"{file.path}: {_LATER_WORDS[file.fate]}.")
    if done.replaced is not None:
        print_remark(f"The replaced files are kept in {done.replaced}.")


def _describe_plan(plan: UndoResult) -> Iterator[str]:
    from turnlog.cli.terminal import to_visible_line

    yield to_visible_line(f"Would undo: {_format_summary(plan.change)}")
    for item in plan.change.files:
        effects = {
            "rewrite": f"{item.path}: original restored",
            "create": f"{item.path}: removed",
            "remove": f"{item.path}: restored",
            "rename": f"{item.to}: renamed to {item.path}",
            "append": f"{item.path}: the lines added at its end are removed",
        }
        yield "  " + to_visible_line(effects[item.kind])
    for file in plan.later_files:
        forced = " (--force)" if file.needs_force else ""
        yield "  " + to_visible_line(f"{file.path}: {_LATER_WORDS[file.fate]}{forced}")
    for obstacle in plan.obstacles:
        yield "  " + to_visible_line(f"but {obstacle.words}" + ("" if obstacle.is_final else " (--force)"))


def _prune_changes(days: float, *, dry_run: bool) -> None:
    from turnlog.api.changes import prune_changes
    from turnlog.cli.output import print_lines, print_remark
    from turnlog.cli.terminal import to_visible_line
    from turnlog.render.figures import format_count, format_size

    done = prune_changes(days, dry_run=dry_run)
    if not done.changes:
        print_remark("No change is that old.")
        return
    print_lines(to_visible_line(_format_summary(item)) for item in done.changes)
    size, count = format_size(done.bytes_freed), format_count(len(done.changes), "change")
    if dry_run:
        print_remark(f"This would free {size}; {count} could no longer be undone.")
    else:
        print_remark(f"Freed {size}; {count} can no longer be undone.")


def _format_summary(change: Change) -> str:
    from turnlog.render.figures import format_count

    return f"{change.name}  {change.words[:_MAX_WORDS_CHARS]}  ({format_count(len(change.files), 'file')})"


def _print_changes() -> None:
    from turnlog.api.changes import list_changes
    from turnlog.api.config import load_config
    from turnlog.cli.output import print_lines, print_remark
    from turnlog.cli.rows import render_titled_rows
    from turnlog.cli.terminal import detect_screen

    found = list_changes()
    screen = detect_screen(load_config().color)
    print_lines(render_titled_rows([*map(_build_cells, found.changes)], screen, numbers={3, 4}, spare=(4, 3, 1)))
    if found.changes:
        print_lines(screen.wrap_prose(_DEFINITION, "dim"))
    else:
        print_remark("There are no changes to undo.")
    for reason in found.unreadable:
        print_remark(f"Not listed: {reason}")


def _build_cells(change: Change) -> tuple[str, str, str, str, str, str]:
    from turnlog.cli import time_format
    from turnlog.cli.terminal import to_visible_line
    from turnlog.render.figures import format_count

    return (
        to_visible_line(change.name),
        time_format.format_client_time(change.when),
        _STATE_WORDS.get(change.state, "done"),
        format_count(len(change.files), "file"),
        f"{time_format.format_size(change.kept_size)} kept",
        to_visible_line(change.words[:_MAX_WORDS_CHARS]),
    )
