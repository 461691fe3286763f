"""`turnlog move`: a project's folder was renamed, and its sessions follow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.api.changes import ProjectMove

_MAX_LISTED_FOLDERS = 20


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
    from turnlog.api.changes import move_project
    from turnlog.api.documents import to_document
    from turnlog.cli.edit.doubts import agrees_to
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.progress import show_progress

    remarks: list[str] = []
    result = move_project(
        old_path,
        new_path,
        text=text,
        merge=merge,
        force=force,
        dry_run=dry_run,
        confirm=lambda doubts: agrees_to(doubts, "Move them all the same?"),
        notify=remarks.append,
        progress=show_progress("moving, step {done:,} of {total:,} …"),
    )
    if as_json:
        print_json(to_document(result))
    else:
        print_lines(_render_move(result))
    for remark in (*_list_link_remarks(result), *remarks, *_list_next_steps(result)):
        print_remark(remark)


def _render_move(result: ProjectMove) -> Iterator[str]:
    from turnlog.cli.terminal import to_visible_line
    from turnlog.render.figures import format_count

    verb, now = ("Would move", "becomes") if result.dry_run else ("Moved", "is now")
    count = sum(len(folder.sessions) for folder in result.folders)
    yield to_visible_line(f"{verb} {format_count(count, 'session')}: {result.old_path} {now} {result.new_path}")
    for folder in result.folders[:_MAX_LISTED_FOLDERS]:
        into = f" -> {folder.new.name}" if folder.new != folder.old else " stays, with new paths in it"
        yield "  " + to_visible_line(f"{folder.old}{into}  ({format_count(len(folder.sessions), 'session')})")
    if len(result.folders) > _MAX_LISTED_FOLDERS:
        yield f"  and {len(result.folders) - _MAX_LISTED_FOLDERS} more folders"
    changed = "would change" if result.dry_run else "changed"
    yield f"{format_count(result.lines, 'line')} {changed} in {format_count(result.files, 'file')}"


def _list_link_remarks(result: ProjectMove) -> Iterator[str]:
    for path in result.links[:_MAX_LISTED_FOLDERS]:
        yield f"{path}: is a link and was not followed; what it leads to keeps the old paths."
    if len(result.links) > _MAX_LISTED_FOLDERS:
        yield f"and {len(result.links) - _MAX_LISTED_FOLDERS:,} more links"


def _list_next_steps(result: ProjectMove) -> Iterator[str]:
    if result.dry_run:
        yield "Nothing was written: this was a dry run."
        return
    yield "`turnlog undo` takes it back."
    old, new = result.old_path, result.new_path
    if os.path.isdir(old) and not os.path.lexists(new):  # noqa: PTH112 - it may be a path of another system
        yield f"The folder itself is still {old}; move it to {new} now."
