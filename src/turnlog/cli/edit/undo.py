"""`turnlog undo`: take back what turnlog has changed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import click

from turnlog.api.config import data_dir
from turnlog.cli import time_format
from turnlog.cli.edit.doubts import agrees_to
from turnlog.cli.output import print_lines, print_remark
from turnlog.cli.rows import render_titled_rows
from turnlog.cli.terminal import TerminalScreen, to_visible_line
from turnlog.edit.undo.record import STATE_BEGUN, STATE_UNDONE, UndoRecord
from turnlog.edit.undo.stubs import FATE_ASIDE, FATE_JOINED, FATE_RETURNED, find_stub_needing_force, find_stubs
from turnlog.edit.undo.touched_sessions import find_change, find_last_change, find_touched_targets, list_doubts
from turnlog.edit.undo.undo import Undo
from turnlog.render.figures import format_count
from turnlog.session.clock import to_iso_time


@click.command()
@click.argument("change", required=False)
@click.option("--list", "listing", is_flag=True, help="List what was changed, and what can be undone.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would be put back, and what speaks against it.")
@click.option("--force", is_flag=True, help="Also where a file was written since; what is there now is kept.")
@click.option("--prune", type=click.FloatRange(0), metavar="DAYS", help="Free the space of changes older than DAYS.")
@click.option("--json", "as_json", is_flag=True, help="With --list: print JSON (docs/json.md).")
def undo(change: str | None, listing: bool, dry_run: bool, force: bool, prune: float | None, as_json: bool) -> None:
    """Take back the last change that turnlog made to your files, byte for byte, with modes and times.

    CHANGE is a name that --list shows, or the start of one, or a session's id: then its last change. Before turnlog
    changes a file in place it keeps the original; nothing of that goes until you say --prune. A file that was written
    since is not put back, unless by force. Deleted sessions come back with `turnlog undelete`.

    \b
    Examples:
      turnlog undo
      turnlog undo --list
      turnlog undo bee7dbd3 --dry-run
      turnlog undo --prune 30
    """
    from turnlog.api.config import load_config
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen
    from turnlog.errors import UsageError

    if listing + (prune is not None) + (change is not None) > 1:
        raise UsageError("give a change, --list or --prune DAYS, only one of them")
    if as_json and not listing:
        raise UsageError("--json belongs to --list")
    store = open_undo_store()
    if prune is not None:
        prune_changes(store, prune, dry_run=dry_run)
    elif as_json:
        print_json(to_changes_document(store))
    elif listing:
        print_lines(render_change_table(store, detect_screen(load_config().color)))
    else:
        undo_change(store, change, dry_run=dry_run, force=force)


_MAX_WORDS_CHARS = 200
_STATE_WORDS = {STATE_BEGUN: "interrupted", STATE_UNDONE: "undone"}
_STUB_WORDS = {
    FATE_RETURNED: "was written there since, and stays",
    FATE_JOINED: "a client went on with it; what it wrote since follows the original",
    FATE_ASIDE: "was written there since, and is set aside with the change",
}
_DEFINITION = "kept: bytes of the originals that turnlog keeps for the change, or of its result once it was undone"


def open_undo_store() -> Undo:
    """What was changed on this machine."""
    return Undo(data_dir() / "undo")


def undo_change(store: Undo, name: str | None, *, dry_run: bool, force: bool) -> None:
    """Undo the change that a name means, or the last one."""
    records = store.list_records()
    record = find_last_change(records) if name is None else find_change(name, records)
    if dry_run:
        print_lines(_describe_undo(store, record))
        return
    asked = not force and agrees_to(list_doubts(find_touched_targets(record.places)), "Undo it all the same?")
    stubs = find_stubs(record)
    store.undo_record(record, force=force, asked=asked)
    print_lines([to_visible_line(f"Undone: {_format_summary(record)}")])
    for stub in stubs:
        print_remark(to_visible_line(f"{stub.path}: {_STUB_WORDS[stub.fate]}."))
    if force and store.folder.joinpath(record.name, "made").is_dir():
        print_remark(f"What was there before is kept in {record.folder / 'made'}.")


def _describe_undo(store: Undo, record: UndoRecord) -> Iterator[str]:
    yield to_visible_line(f"Would undo: {_format_summary(record)}")
    for item in record.items:
        words = {
            "rewrite": f"{item.path}: the original comes back",
            "create": f"{item.path}: goes",
            "remove": f"{item.path}: comes back",
            "rename": f"{item.to}: becomes {item.path}",
            "append": f"{item.path}: what was added to its end goes",
        }
        yield "  " + to_visible_line(words[item.kind])
    for stub in find_stubs(record):
        forced = " (--force)" if find_stub_needing_force([stub]) else ""
        yield "  " + to_visible_line(f"{stub.path}: {_STUB_WORDS[stub.fate]}{forced}")
    for trouble in store.list_troubles(record):
        yield "  " + to_visible_line(f"but {trouble.words}" + ("" if trouble.is_final else " (--force)"))


def prune_changes(store: Undo, days: float, *, dry_run: bool) -> None:
    """Free the space of old changes."""
    age = timedelta(days=min(days, 36500))
    found = store.list_ripe(age)
    amount = time_format.format_size(sum(store.measure_kept_size(record) for record in found))
    if not dry_run:
        found = store.prune(age)
    if not found:
        print_remark("There is no change as old as that.")
        return
    print_lines(to_visible_line(_format_summary(record)) for record in found)
    verb = "Would free" if dry_run else "Freed"
    print_remark(f"{verb} {amount}; {format_count(len(found), 'change')} can't be undone any more.")


def _format_summary(record: UndoRecord) -> str:
    return f"{record.name}  {record.words[:_MAX_WORDS_CHARS]}  ({format_count(len(record.items), 'file')})"


def render_change_table(store: Undo, screen: TerminalScreen) -> Iterator[str]:
    """The changes as lines, the newest first."""
    found = store.list_entries()
    rows = [_build_cells(store, record) for record in found.entries]
    yield from render_titled_rows(rows, screen, numbers={3, 4}, spare=(4, 3, 1))
    if rows:
        yield from screen.wrap_prose(_DEFINITION, "dim")
    else:
        print_remark("turnlog has changed nothing that could be undone.")
    for words in found.unreadable:
        print_remark(f"Not listed: {words}")


def _build_cells(store: Undo, record: UndoRecord) -> tuple[str, str, str, str, str, str]:
    return (
        to_visible_line(record.name),
        time_format.format_epoch_time(record.moment.timestamp()),
        _STATE_WORDS.get(record.state, "done"),
        format_count(len(record.items), "file"),
        f"{time_format.format_size(store.measure_kept_size(record))} kept",
        to_visible_line(record.words[:_MAX_WORDS_CHARS]),
    )


def to_changes_document(store: Undo) -> dict[str, Any]:
    """The changes as a JSON document."""
    found = store.list_entries()
    return {"changes": [_to_record_document(store, record) for record in found.entries], "unreadable": found.unreadable}


def _to_record_document(store: Undo, record: UndoRecord) -> dict[str, Any]:
    return {
        "name": record.name,
        "verb": record.verb,
        "words": record.words,
        "when": to_iso_time(record.moment),
        "state": record.state,
        "sessions": list(dict.fromkeys(target.session_id for target in find_touched_targets(record.places))),
        "files": [{"kind": item.kind, "path": item.path, "to": item.to} for item in record.items],
        "kept_size": store.measure_kept_size(record),
        "path": str(record.folder),
    }
