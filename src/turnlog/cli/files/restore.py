"""`turnlog restore`: restore a version of a file from Claude Code's copies or the transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from turnlog.cli import time_format
from turnlog.cli.rows import render_table_rows
from turnlog.cli.terminal import TerminalScreen, to_visible_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnlog.api.files import FileVersions, RestoredVersion
    from turnlog.session.files.versions import FileVersion

_DEFINITION = (
    "exact: a copy, or written in full. text: shown in full; line endings and byte order mark are as Claude Code"
    " shows them. rebuilt: changes applied to what was known. partial: some lines. unknown: changed, but the new"
    " content was not recorded. A version that only confirms the one before it is not listed."
)


@click.command()
@click.argument("file")
@click.option("--at", type=click.IntRange(1), metavar="TURN", help="Restore the version that existed after this turn.")
@click.option(
    "--before",
    type=click.IntRange(1),
    metavar="TURN",
    help="Restore the version that existed before this turn changed the file.",
)
@click.option("-l", "--list", "listed", is_flag=True, help="List all known versions without writing a file.")
@click.option(
    "-s", "--session", metavar="SESSION", help="Session to restore from (default: the newest one that used the file)."
)
@click.option("-o", "--output", metavar="PLACE", help="File to write to, or - for standard output.")
@click.option("--force", is_flag=True, help="Replace an existing file, keeping a copy next to it.")
@click.option("--partial", is_flag=True, help="Write the version even if only some of its lines are known.")
@click.option("--json", "as_json", is_flag=True, help="With --list, print JSON (see docs/json.md).")
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
    """Restore an earlier version of a file from a session, and write it to a file of your choice.

    FILE is a path, the end of a path, or a file name that matches only one file. Turns are numbered as in `turnlog
    show`. Versions come from Claude Code's own copies (file-history) or are rebuilt from what the session read, wrote
    and edited; the output shows how reliable each version is (see docs/files.md). The original file is never
    overwritten unless you name it as PLACE and use --force.

    \b
    Examples:
      turnlog restore cart.py --list
      turnlog restore cart.py --before 3 -o cart-before.py
      turnlog restore src/shop/cart.py --at 2 --session bee7dbd3 -o - | diff - src/shop/cart.py
    """
    from turnlog.api.config import load_config
    from turnlog.api.documents import to_document
    from turnlog.api.files import list_versions, restore_file
    from turnlog.cli.index_bar import show_index_bar
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen
    from turnlog.errors import UsageError

    if sum((at is not None, before is not None, listed)) != 1:
        raise UsageError("use exactly one of --at TURN, --before TURN and --list")
    if not listed and output is None:
        raise UsageError("-o PLACE is required; use -o - for standard output")
    config = load_config()
    with show_index_bar() as bar:
        if listed:
            known = list_versions(file, session=session, config=config, notify=bar.notify, progress=bar.show)
        else:
            restored = restore_file(
                file,
                at=at,
                before=before,
                session=session,
                output=None if output == "-" else output,
                force=force,
                partial=partial,
                config=config,
                notify=bar.notify,
                progress=bar.show,
            )
    if not listed:
        _report_restored(restored)
    elif as_json:
        print_json(to_document(known))
    else:
        print_lines(_render_versions(known, detect_screen(config.color)))


def _report_restored(restored: RestoredVersion) -> None:
    from pathlib import PurePath

    from turnlog.api.files import describe_version
    from turnlog.cli.output import print_remark, write_raw

    if restored.output is None:
        write_raw([restored.data])
    else:
        kept = f"; what was there is kept in {PurePath(restored.kept).name}" if restored.kept else ""
        print_remark(f"Written: {restored.output}{kept}.")
    print_remark(f"{restored.path}: {describe_version(restored.version, restored.later)}.")


def _render_versions(known: FileVersions, screen: TerminalScreen) -> Iterator[str]:
    yield screen.paint(to_visible_line(known.path), "bold")
    head = ("version", "turn", "time", "size", "sha256", "how sure", "where from")
    yield from render_table_rows(head, map(_build_cells, known.versions), screen, numbers=range(4))
    yield from screen.wrap_prose(_DEFINITION, "dim")


def _build_cells(version: FileVersion) -> tuple[str, ...]:
    from turnlog.api.files import VERSION_ACTION_WORDS, format_line_range, format_version_size

    turn = f"{version.turn}" if version.turn else "–"
    agent = f" in sub-agent {version.agent_id}" if version.agent_id else ""
    note = f" ({version.note})" if version.note else ""
    source = f"{VERSION_ACTION_WORDS[version.action]} {version.source}{agent}{format_line_range(version)}{note}"
    return (
        f"{version.number}",
        turn,
        time_format.format_client_time(version.time),
        format_version_size(version),
        (version.sha256 or "–")[:12],
        version.sure,
        to_visible_line(source),
    )
