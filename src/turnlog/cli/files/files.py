"""`turnlog files`: the files that a session, or all sessions of a project, have read and changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from turnlog.cli import time_format
from turnlog.cli.files.file_tables import FileFilter, is_glob_match, to_session_path
from turnlog.cli.terminal import to_visible_line
from turnlog.session.files.contents import encode_file_text
from turnlog.session.files.file_steps import FileStep, list_file_steps
from turnlog.session.files.patches import format_unified_diff

if TYPE_CHECKING:
    from turnlog.api.config import Config
    from turnlog.cli.files.file_tables import FileFilter
    from turnlog.session.session import Session
if TYPE_CHECKING:
    from turnlog.session.session import Session


@click.command()
@click.argument("session", required=False)
@click.option("-p", "--project", metavar="P", help="All sessions of this folder and those below it, or of that name.")
@click.option("--path", "glob", metavar="GLOB", help="Only files whose path, or the end of it, fits.")
@click.option("-w", "--written", is_flag=True, help="Only files that were written or edited.")
@click.option("-d", "--diff", is_flag=True, help="Rebuild the changes as one patch, in the order they were made.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def files(session: str | None, project: str | None, glob: str | None, written: bool, diff: bool, as_json: bool) -> None:
    """Say which files were read, written and edited, when and by which turn.

    SESSION is a path, an id or the start of one, a title, or `last`; sub-agents are included and named. With
    --project the numbers come from the index, over all sessions of a project.

    --diff prints a patch that `patch -p1` and `git apply` take, as far as the session tells what the files held
    (docs/files.md). Lines that begin with # say whose change it is, and why one can't be rebuilt.

    \b
    Examples:
      turnlog files last
      turnlog files last --written --path 'src/*.py'
      turnlog files last --diff | less
      turnlog files bee7dbd3 --diff --path cart.py > cart.patch
      turnlog files --project webshop --written
    """
    from turnlog.api.config import load_config
    from turnlog.cli.files.file_tables import FileFilter
    from turnlog.cli.named_sessions import open_named_session
    from turnlog.errors import UsageError

    if (session is None) == (project is None):
        raise UsageError("give a SESSION or --project P; `turnlog files last` takes the newest session")
    if diff and session is None:
        raise UsageError("--diff needs a SESSION: changes are rebuilt one session at a time")
    config, wish = load_config(), FileFilter(glob, written)
    if project is not None:
        _print_project_files(project, wish, config, as_json)
        return
    with open_named_session(session or "", config) as found:
        if diff:
            _print_diffs(found, wish, as_json)
        else:
            _print_session_files(found, wish, config, as_json)


def _print_session_files(session: Session, wish: FileFilter, config: Config, as_json: bool) -> None:
    from turnlog.cli.files.file_tables import render_file_table, select_touched_files, to_files_document
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen

    found = select_touched_files(session, wish)
    if as_json:
        print_json(to_files_document(session, found))
    else:
        print_lines(render_file_table(session, found, detect_screen(config.color)))


def _print_diffs(session: Session, wish: FileFilter, as_json: bool) -> None:

    from turnlog.cli.output import print_json_list, print_remark, write_raw

    if as_json:
        print_json_list(
            "changes", (to_file_change_document(session, step) for step in find_file_changes(session, wish))
        )
        return
    missing = 0
    for step in find_file_changes(session, wish):
        write_raw(render_patch(session, step))
        missing += step.hunks is None
    if missing:
        print_remark(f"{missing} of the changes can't be rebuilt; lines that begin with # say why.")


def _print_project_files(project: str, wish: FileFilter, config: Config, as_json: bool) -> None:
    from turnlog.api.sessions import find_project_sessions
    from turnlog.cli.files.file_tables import filter_indexed_files, render_indexed_table, to_indexed_files_document
    from turnlog.cli.fresh_index import open_fresh_index
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen
    from turnlog.store.insight.touched_files import list_indexed_files

    with open_fresh_index(config) as index:
        ids = find_project_sessions(index.db, project)
        found = filter_indexed_files(list_indexed_files(index.db, ids), wish)
    if as_json:
        print_json(to_indexed_files_document(found))
    else:
        print_lines(render_indexed_table(found, detect_screen(config.color)))


def find_file_changes(session: Session, wish: FileFilter) -> Iterator[FileStep]:
    """What wrote and edited the wanted files, in order of time."""
    return (
        step
        for step in list_file_steps(session, lambda path: is_glob_match(path, wish.glob))
        if step.action in ("write", "edit")
    )


def render_patch(session: Session, step: FileStep) -> Iterator[bytes]:
    """The lines of one change; those that begin with # are passed over by `patch` and `git apply`."""
    yield encode_file_text(f"# {to_visible_line(_describe_change(session, step))}\n")
    for note in _list_notes(step):
        yield encode_file_text(f"# {to_visible_line(note)}\n")
    if step.hunks:
        place = to_patch_path(to_session_path(step.path, session))
        yield from (
            encode_file_text(text + "\n") for text in format_unified_diff(place, step.hunks, created=step.created)
        )
    yield b"\n"


def to_patch_path(path: str) -> str:
    """A path below the folder in which a patch is applied."""
    return path.replace("\\", "/").replace(":", "").lstrip("/")


def _describe_change(session: Session, step: FileStep) -> str:
    turn = f"turn {step.turn.number}" if step.turn else "no turn"
    who = f" by {step.agent.type or step.agent.kind} {step.agent.agent_id}" if step.agent else ""
    return (
        f"{step.source}, {turn}{who}, {time_format.format_client_time(step.time)}: "
        f"{to_session_path(step.path, session)}"
    )


def _list_notes(step: FileStep) -> Iterator[str]:
    if step.user_modified:
        yield "A person changed what the model had proposed; this is what was written."
    if step.hunks is None:
        yield f"Can't be rebuilt: {step.note}."
    elif step.note:
        yield f"Perhaps not exact: {step.note}."
    elif not step.hunks:
        yield "Nothing changed: an empty file was made." if step.created else "Nothing changed."


def to_file_change_document(session: Session, step: FileStep) -> dict[str, Any]:
    """One change as JSON."""
    place = to_patch_path(to_session_path(step.path, session))
    lines = format_unified_diff(place, step.hunks, created=step.created) if step.hunks else ()
    return {
        "path": step.path,
        "turn": step.turn.number if step.turn else None,
        "time": step.time,
        "tool": step.source,
        "call_id": step.call_id,
        "agent_id": step.agent.agent_id if step.agent else None,
        "created": step.created,
        "user_modified": step.user_modified,
        "source": step.rebuilt_from,
        "before_known": step.before is not None or step.created,
        "note": step.note,
        "patch": None if step.hunks is None else "".join(f"{text}\n" for text in lines),
    }
