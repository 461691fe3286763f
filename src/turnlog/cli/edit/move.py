"""`turnlog move`: update the sessions of a project whose folder was renamed."""

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
@click.option(
    "--text",
    is_flag=True,
    help="Also change paths in the text of the conversation: prompts, answers, tool inputs and results.",
)
@click.option("--merge", is_flag=True, help="Allow NEW_PATH to be a project that already has sessions.")
@click.option(
    "--force",
    is_flag=True,
    help="Also move sessions that may be open in Claude Code. Sessions known to be open are never moved.",
)
@click.option("-n", "--dry-run", is_flag=True, help="Show what would change, without changing it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def move(old_path: str, new_path: str, text: bool, merge: bool, force: bool, dry_run: bool, as_json: bool) -> None:
    """Move a project's sessions after its folder was renamed or moved.

    NEW_PATH replaces OLD_PATH in everything that Claude Code stores about the project and its subfolders: session
    folders, working folders and file paths in each entry, sub-agents, the prompt history, and Claude Code's own state.
    After that, `claude --resume` in NEW_PATH finds the sessions. The text of the conversation doesn't change unless you
    use --text. turnlog does not move the project folder itself; you can move it before or after running this command.
    `turnlog undo` reverts all changes.

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
        confirm=lambda doubts: agrees_to(doubts, "Move them anyway?"),
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
        into = f" -> {folder.new.name}" if folder.new != folder.old else " keeps its name and gets new paths"
        yield "  " + to_visible_line(f"{folder.old}{into}  ({format_count(len(folder.sessions), 'session')})")
    if len(result.folders) > _MAX_LISTED_FOLDERS:
        yield f"  and {len(result.folders) - _MAX_LISTED_FOLDERS} more folders"
    changed = "would change" if result.dry_run else "changed"
    yield f"{format_count(result.lines, 'line')} {changed} in {format_count(result.files, 'file')}"


def _list_link_remarks(result: ProjectMove) -> Iterator[str]:
    for path in result.links[:_MAX_LISTED_FOLDERS]:
        yield f"{path}: a link, which was not followed; the files behind it keep the old paths."
    if len(result.links) > _MAX_LISTED_FOLDERS:
        yield f"and {len(result.links) - _MAX_LISTED_FOLDERS:,} more links"


def _list_next_steps(result: ProjectMove) -> Iterator[str]:
    if result.dry_run:
        yield "Nothing was written: this was a dry run."
        return
    yield "`turnlog undo` reverts it."
    old, new = result.old_path, result.new_path
    if os.path.isdir(old) and not os.path.lexists(new):  # noqa: PTH112 - it may be a path of another system
        yield f"The folder itself is still {old}; move it to {new} now."
