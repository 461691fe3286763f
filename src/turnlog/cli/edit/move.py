"""`turnlog move`: a project's folder was renamed, and its sessions go along."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from turnlog.api.config import Config
from turnlog.api.lookup import list_config_folders
from turnlog.cli.edit.doubts import agrees_to
from turnlog.cli.edit.undo import open_undo_store
from turnlog.cli.output import print_json, print_lines, print_remark
from turnlog.cli.progress import show_progress
from turnlog.cli.terminal import to_visible_line
from turnlog.edit.move.move import MoveResult, list_moved_targets, move_project, rehearse_move
from turnlog.edit.move.move_plan import MovePlan, links, plan_move
from turnlog.edit.undo.touched_sessions import list_doubts
from turnlog.errors import NotFound, UsageError
from turnlog.render.figures import format_count


@click.command()
@click.argument("old_path")
@click.argument("new_path")
@click.option("--text", is_flag=True, help="Also in what was said: prompts, answers, inputs and results of tools.")
@click.option("--merge", is_flag=True, help="Into a project that has sessions already.")
@click.option("--force", is_flag=True, help="Even if a client may have a session open; never if it surely has.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would be changed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def move(old_path: str, new_path: str, text: bool, merge: bool, force: bool, dry_run: bool, as_json: bool) -> None:
    """Let the sessions of a project follow when its folder was renamed or moved.

    Everything that the client keeps of OLD_PATH and of folders below it gets the new path: the folders of its
    sessions, working folders and files in each entry, sub-agents, the prompt history, the client's own lists and its
    state. Then `claude --resume` in NEW_PATH finds them. What was said stays as it is, unless --text. The project's
    folder itself is not moved: do that before or afterwards. `turnlog undo` takes everything back.

    \b
    Examples:
      turnlog move ~/code/shop ~/work/webshop --dry-run
      turnlog move ~/code/shop ~/work/webshop
      turnlog move . ../webshop --merge
    """
    from turnlog.api.config import load_config

    relocate_sessions(
        old_path,
        new_path,
        MoveOptions(text=text, merge=merge, force=force, dry_run=dry_run, as_json=as_json),
        load_config(),
    )


_WINDOWS_PATH = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_MAX_LISTED_FOLDERS = 20


class MoveOptions(NamedTuple):
    """How to move."""

    text: bool = False
    merge: bool = False
    force: bool = False
    dry_run: bool = False
    as_json: bool = False


def relocate_sessions(old: str, new: str, wish: MoveOptions, config: Config) -> None:
    """Move the sessions of a folder, or say what that would change."""
    goal = _to_real_path(new)
    found = _build_plan(old, goal, config)
    not_followed = [path for folder in found.folders for path in links(folder)]
    if wish.dry_run:
        done = rehearse_move(found, text=wish.text)
    else:
        asked = not wish.force and agrees_to(list_doubts(list_moved_targets(found)), "Move them all the same?")
        told = show_progress("moving, step {done:,} of {total:,} …")
        done = move_project(
            found, open_undo_store(), text=wish.text, merge=wish.merge, force=wish.force, asked=asked, progress=told
        )
    if wish.as_json:
        print_json(_to_move_document(found, done, not_followed))
    else:
        print_lines(_render_plan(found, done))
    _tell_links(not_followed)
    _print_remarks(found, wish)


def _build_plan(old: str, new: str, config: Config) -> MovePlan:
    """The plan for a path as it was typed or, if nothing was written there, as links lead."""
    typed = _to_absolute_path(old)
    if typed == new:
        raise UsageError(f"{typed}: is both the old and the new path")
    try:
        return plan_move(typed, new, list_config_folders(config))
    except NotFound:
        real = os.path.realpath(typed)
        if real in (typed, new) or _WINDOWS_PATH.match(typed):
            raise
        return plan_move(real, new, list_config_folders(config))


def _to_absolute_path(path: str) -> str:
    """A path from the root on; one of Windows stays as it is, wherever it is typed."""
    return path if _WINDOWS_PATH.match(path) else os.path.abspath(Path(path).expanduser())  # noqa: PTH100 - no links yet


def _to_real_path(path: str) -> str:
    """The path by which the client will know the new folder: links are followed as far as there is something."""
    whole = _to_absolute_path(path)
    return whole if _WINDOWS_PATH.match(whole) else os.path.realpath(whole)


def _render_plan(found: MovePlan, done: MoveResult) -> Iterator[str]:
    verb, now = ("Moved", "is now") if done.record else ("Would move", "becomes")
    yield to_visible_line(
        f"{verb} {format_count(found.session_count, 'session')}: {found.translation.old} {now} {found.translation.new}"
    )
    for folder in found.folders[:_MAX_LISTED_FOLDERS]:
        into = f" -> {folder.goal.name}" if folder.goal != folder.source else " stays, with new paths in it"
        yield "  " + to_visible_line(f"{folder.source}{into}  ({format_count(len(folder.sessions), 'session')})")
    if len(found.folders) > _MAX_LISTED_FOLDERS:
        yield f"  and {len(found.folders) - _MAX_LISTED_FOLDERS} more folders"
    would = "changed" if done.record else "would change"
    yield f"{format_count(done.lines, 'line')} {would} in {format_count(done.files, 'file')}"


def _tell_links(not_followed: list[Path]) -> None:
    for path in not_followed[:_MAX_LISTED_FOLDERS]:
        print_remark(to_visible_line(f"{path}: is a link and was not followed; what it leads to keeps the old paths."))
    if len(not_followed) > _MAX_LISTED_FOLDERS:
        print_remark(f"and {len(not_followed) - _MAX_LISTED_FOLDERS:,} more links")


def _print_remarks(found: MovePlan, wish: MoveOptions) -> None:
    for folder in found.folders:
        if not folder.is_whole:
            print_remark(
                f"{folder.source}: sessions of another folder with the same short name stay, and what they share."
            )
    if wish.dry_run:
        if found.taken_folders and not wish.merge:
            print_remark(f"{found.taken_folders[0]}: stands there already; --merge is needed.")
        print_remark("Nothing was written: this was a dry run.")
        return
    print_remark("`turnlog undo` takes it back.")
    old, new = found.translation.old, found.translation.new
    if os.path.isdir(old) and not os.path.lexists(new):  # noqa: PTH112 - it may be a path of another system
        print_remark(f"The folder itself is still {old}; move it to {new} now.")


def _to_move_document(found: MovePlan, done: MoveResult, not_followed: list[Path]) -> dict[str, Any]:
    return {
        "old_path": found.translation.old,
        "new_path": found.translation.new,
        "dry_run": done.record is None,
        "folders": [
            {"old": str(folder.source), "new": str(folder.goal), "sessions": list(folder.sessions)}
            for folder in found.folders
        ],
        "files": done.files,
        "lines": done.lines,
        "links": [str(path) for path in not_followed],
        "change": done.record.name if done.record else None,
    }
