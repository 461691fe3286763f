"""`turnlog restore`: a version of a file, out of the client's copies or the transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.session.files.versions import ChosenVersion, FileVersion
    from turnlog.session.session import Session


@click.command()
@click.argument("file")
@click.option("--at", type=click.IntRange(1), metavar="TURN", help="As it was after this turn.")
@click.option("--before", type=click.IntRange(1), metavar="TURN", help="As it was before this turn changed it.")
@click.option("-l", "--list", "listed", is_flag=True, help="List all versions that are known, and write nothing.")
@click.option("-s", "--session", metavar="SESSION", help="Out of this session; else the newest that touched the file.")
@click.option("-o", "--output", metavar="PLACE", help="Where to write it; - for standard output.")
@click.option("--force", is_flag=True, help="Replace a file that is there; a copy of it is kept beside it.")
@click.option("--partial", is_flag=True, help="Also when only some lines of it are known.")
@click.option("--json", "as_json", is_flag=True, help="With --list: print JSON (docs/json.md).")
def restore(
    file: str,
    at: int | None,
    before: int | None,
    listed: bool,
    session: str | None,
    output: str | None,
    force: bool,
    partial: bool,
    as_json: bool,
) -> None:
    """Write a version of a file that a session knows of, to a place that you name.

    FILE is a path, the end of one, or a name that fits one file. Turns are numbered as in `turnlog show`. A
    version comes from the copies that the client keeps (file-history), or from what was read, written and edited;
    how sure it is, is said (docs/files.md). The file itself is never written to, unless PLACE names it, with --force.

    \b
    Examples:
      turnlog restore cart.py --list
      turnlog restore cart.py --before 3 -o cart-before.py
      turnlog restore src/shop/cart.py --at 2 --session bee7dbd3 -o - | diff - src/shop/cart.py
    """
    from turnlog.cli.config import load_config
    from turnlog.cli.files.known import list_name_spellings, open_touching_session, print_versions
    from turnlog.errors import UsageError
    from turnlog.session.files.versions import find_file_path, list_file_versions

    if sum((at is not None, before is not None, listed)) != 1:
        raise UsageError("give one of --at TURN, --before TURN and --list")
    if not listed and output is None:
        raise UsageError("-o PLACE says where to write it; -o - writes to standard output")
    config = load_config()
    with open_touching_session(file, session, config) as found:
        path = find_file_path(found, file, list_name_spellings(file))
        known = list_file_versions(found, path)
        if listed:
            print_versions(found, path, known, config, as_json=as_json)
            return
        _write_version(
            found, path, _choose_version(found, known, path, at, before), output or "", force=force, partial=partial
        )


def _choose_version(
    session: Session, known: list[FileVersion], path: str, at: int | None, before: int | None
) -> ChosenVersion:
    from turnlog.errors import NotFound, UsageError
    from turnlog.session.files.versions import find_version_after_turn, find_version_before_turn

    turn = at or before or 0
    if turn > len(session.turns):
        raise UsageError(f"turn {turn}: the session has {len(session.turns)}")
    chosen = find_version_after_turn(known, turn) if before is None else find_version_before_turn(known, turn)
    if chosen is None:
        raise NotFound(f"{path}: what it held then is not known; --list shows what is")
    if chosen.version.absent:
        raise NotFound(f"{path}: there was no such file then; --list shows when there was")
    return chosen


def _write_version(
    session: Session, path: str, chosen: ChosenVersion, output: str, *, force: bool, partial: bool
) -> None:
    from pathlib import Path

    from turnlog.cli.files.known import describe_version
    from turnlog.cli.output import print_remark, write_raw
    from turnlog.edit.restore_file import restore_file
    from turnlog.errors import UsageError
    from turnlog.session.files.versions import recreate_version

    version = chosen.version
    if not version.is_whole and not partial:
        raise UsageError(f"{path}: {describe_version(chosen)}; --partial writes that")
    data = recreate_version(session, path, version)
    if output == "-":
        write_raw([data])
    else:
        written = restore_file(Path(output).expanduser(), data, force=force)
        kept = f"; what was there is kept in {written.kept.name}" if written.kept else ""
        print_remark(f"Written: {written.place}{kept}.")
    print_remark(f"{path}: {describe_version(chosen)}.")
