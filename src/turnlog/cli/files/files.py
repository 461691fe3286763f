"""`turnlog files`: the files that a session, or all sessions of a project, have read and changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.cli.config import Config
    from turnlog.cli.files.touched import FileFilter
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
    from turnlog.cli.config import load_config
    from turnlog.cli.files.touched import FileFilter
    from turnlog.cli.named import open_named_session
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
    from turnlog.cli.files.touched import render_file_table, select_touched_files, to_files_document
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen

    found = select_touched_files(session, wish)
    if as_json:
        print_json(to_files_document(session, found))
    else:
        print_lines(render_file_table(session, found, detect_screen(config.color)))


def _print_diffs(session: Session, wish: FileFilter, as_json: bool) -> None:
    from turnlog.cli.files.diffs import find_file_changes, render_patch, to_file_change_document
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
    from turnlog.cli.files.touched import filter_indexed_files, render_indexed_table, to_indexed_files_document
    from turnlog.cli.indexed import find_project_sessions
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.stored import open_index
    from turnlog.cli.terminal import detect_screen
    from turnlog.store.insight.touched import list_indexed_files

    with open_index(config) as index:
        ids = find_project_sessions(index.db, project)
        found = filter_indexed_files(list_indexed_files(index.db, ids), wish)
    if as_json:
        print_json(to_indexed_files_document(found))
    else:
        print_lines(render_indexed_table(found, detect_screen(config.color)))
