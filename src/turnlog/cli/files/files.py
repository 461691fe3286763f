"""`turnlog files`: list the files that a session or project read and changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from turnlog.cli import time_format
from turnlog.cli.terminal import to_visible_line

if TYPE_CHECKING:
    from turnlog.session.files.file_steps import FileStep
    from turnlog.session.session import Session


@click.command()
@click.argument("session", required=False)
@click.option(
    "-p",
    "--project",
    metavar="P",
    help="List files from all sessions in folder P and its subfolders, or in folders whose names contain P.",
)
@click.option("--path", "glob", metavar="GLOB", help="List only files whose path, or the end of it, matches GLOB.")
@click.option("-w", "--written", is_flag=True, help="List only files that were written or edited.")
@click.option("-d", "--diff", is_flag=True, help="Print the changes as one patch, in chronological order.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def files(session: str | None, project: str | None, glob: str | None, written: bool, diff: bool, as_json: bool) -> None:
    """List the files that a session read, wrote or edited, and show when and in which turn.

    Files that sub-agents used are included and marked. With --project, the numbers come from the index and cover all
    sessions in the project. SESSION is a path, an id, an id prefix, a title, or `last` (the most recent session).

    --diff prints a patch for `patch -p1` or `git apply`. It contains the changes that can be rebuilt from the session
    (see docs/files.md). Lines that start with # show who made a change or explain why it can't be rebuilt.

    \b
    Examples:
      turnlog files last
      turnlog files last --written --path 'src/*.py'
      turnlog files last --diff | less
      turnlog files bee7dbd3 --diff --path cart.py > cart.patch
      turnlog files --project webshop --written
    """
    from turnlog.api.config import load_config
    from turnlog.api.documents import to_document
    from turnlog.api.files import list_files, list_project_files
    from turnlog.cli.files.file_tables import render_file_table, render_project_table
    from turnlog.cli.index_bar import show_index_bar
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.terminal import detect_screen
    from turnlog.errors import UsageError

    if (session is None) == (project is None):
        raise UsageError("use either SESSION or --project P; `turnlog files last` uses the newest session")
    if diff and session is None:
        raise UsageError("--diff requires a SESSION: changes are rebuilt one session at a time")
    config = load_config()
    screen = detect_screen(config.color)
    if session is None:
        with show_index_bar() as bar:
            listed = list_project_files(
                project or "", glob=glob, only_written=written, config=config, notify=bar.notify, progress=bar.show
            )
        if as_json:
            print_json(to_document(listed))
        else:
            print_lines(render_project_table(listed.files, screen))
    elif diff:
        _print_diffs(session, glob, as_json)
    else:
        found = list_files(session, glob=glob, only_written=written, config=config, notify=print_remark)
        if as_json:
            print_json(to_document(found))
        else:
            print_lines(render_file_table(found, screen))


def _print_diffs(name: str, glob: str | None, as_json: bool) -> None:
    """Print the changes one by one: in a long session, they would not all fit into memory."""
    from turnlog.api.documents import to_document
    from turnlog.api.files import iter_change_steps, to_file_change
    from turnlog.api.lookup import open_session
    from turnlog.cli.output import print_json_list, print_remark, write_raw

    with open_session(name, notify=print_remark) as session:
        steps = iter_change_steps(session, glob)
        if as_json:
            print_json_list("changes", (to_document(to_file_change(session, step)) for step in steps))
            return
        missing = 0
        for step in steps:
            write_raw(render_patch(session, step))
            missing += step.hunks is None
    if missing:
        print_remark(f"{missing} of the changes can't be rebuilt; lines that start with # explain why.")


def render_patch(session: Session, step: FileStep) -> Iterator[bytes]:
    """Render the lines of one change; `patch` and `git apply` skip those that start with #."""
    from turnlog.api.files import render_unified_diff
    from turnlog.session.files.contents import encode_file_text

    yield encode_file_text(f"# {to_visible_line(_describe_change(session, step))}\n")
    for note in _list_notes(step):
        yield encode_file_text(f"# {to_visible_line(note)}\n")
    if step.hunks:
        yield from (encode_file_text(text + "\n") for text in render_unified_diff(session, step))
    yield b"\n"


def _describe_change(session: Session, step: FileStep) -> str:
    from turnlog.api.files import to_project_path

    turn = f"turn {step.turn.number}" if step.turn else "no turn"
    who = f" by {step.agent.type or step.agent.kind} {step.agent.agent_id}" if step.agent else ""
    path = to_project_path(step.path, session.folders[0] if session.folders else None)
    return f"{step.source}, {turn}{who}, {time_format.format_client_time(step.time)}: {path}"


def _list_notes(step: FileStep) -> Iterator[str]:
    if step.user_modified:
        yield "The user changed the model's proposal; this is what was written."
    if step.hunks is None:
        yield f"Can't be rebuilt: {step.note}."
    elif step.note:
        yield f"May not be exact: {step.note}."
    elif not step.hunks:
        yield "Nothing changed: an empty file was created." if step.created else "Nothing changed."
