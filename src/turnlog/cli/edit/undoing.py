"""What `turnlog undo` does and says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from turnlog.cli import when
from turnlog.cli.config import data_dir
from turnlog.cli.edit.doubts import agrees_to
from turnlog.cli.output import remark, say
from turnlog.cli.rows import titled_rows
from turnlog.cli.terminal import Screen, line
from turnlog.edit.undo.opened import doubts_of, targets_of
from turnlog.edit.undo.record import BEGUN, UNDONE, Record
from turnlog.edit.undo.stubs import ASIDE, JOINED, RETURNED, find_stubs, needs_force
from turnlog.edit.undo.undo import Undo
from turnlog.edit.undo.undoable import called, last
from turnlog.render.figures import count
from turnlog.session.clock import iso

_LONGEST = 200
_STATES = {BEGUN: "interrupted", UNDONE: "undone"}
_STUBS = {
    RETURNED: "was written there since, and stays",
    JOINED: "a client went on with it; what it wrote since follows the original",
    ASIDE: "was written there since, and is set aside with the change",
}
_DEFINITION = "kept: bytes of the originals that turnlog keeps for the change, or of its result once it was undone"


def undo() -> Undo:
    """What was changed on this machine."""
    return Undo(data_dir() / "undo")


def take_back(store: Undo, name: str | None, *, dry_run: bool, force: bool) -> None:
    """Undo the change that a name means, or the last one."""
    records = store.records()
    record = last(records) if name is None else called(name, records)
    if dry_run:
        say(_plan(store, record))
        return
    asked = not force and agrees_to(doubts_of(targets_of(record.places)), "Undo it all the same?")
    stubs = find_stubs(record)
    store.undo(record, force=force, asked=asked)
    say([line(f"Undone: {_summary(record)}")])
    for stub in stubs:
        remark(line(f"{stub.path}: {_STUBS[stub.fate]}."))
    if force and store.folder.joinpath(record.name, "made").is_dir():
        remark(f"What was there before is kept in {record.folder / 'made'}.")


def _plan(store: Undo, record: Record) -> Iterator[str]:
    yield line(f"Would undo: {_summary(record)}")
    for item in record.items:
        words = {
            "rewrite": f"{item.path}: the original comes back",
            "create": f"{item.path}: goes",
            "remove": f"{item.path}: comes back",
            "rename": f"{item.to}: becomes {item.path}",
            "append": f"{item.path}: what was added to its end goes",
        }
        yield "  " + line(words[item.kind])
    for stub in find_stubs(record):
        forced = " (--force)" if needs_force([stub]) else ""
        yield "  " + line(f"{stub.path}: {_STUBS[stub.fate]}{forced}")
    for trouble in store.trouble(record):
        yield "  " + line(f"but {trouble.words}" + ("" if trouble.is_final else " (--force)"))


def prune(store: Undo, days: float, *, dry_run: bool) -> None:
    """Free the space of old changes."""
    age = timedelta(days=min(days, 36500))
    found = store.ripe(age)
    amount = when.size(sum(store.kept_size(record) for record in found))
    if not dry_run:
        found = store.prune(age)
    if not found:
        remark("There is no change as old as that.")
        return
    say(line(_summary(record)) for record in found)
    verb = "Would free" if dry_run else "Freed"
    remark(f"{verb} {amount}; {count(len(found), 'change')} can't be undone any more.")


def _summary(record: Record) -> str:
    return f"{record.name}  {record.words[:_LONGEST]}  ({count(len(record.items), 'file')})"


def table(store: Undo, screen: Screen) -> Iterator[str]:
    """The changes as lines, the newest first."""
    found = store.listed()
    rows = [_cells(store, record) for record in found.records]
    yield from titled_rows(rows, screen, numbers={3, 4}, spare=(4, 3, 1))
    if rows:
        yield from screen.prose(_DEFINITION, "dim")
    else:
        remark("turnlog has changed nothing that could be undone.")
    for words in found.unreadable:
        remark(f"Not listed: {words}")


def _cells(store: Undo, record: Record) -> tuple[str, str, str, str, str, str]:
    return (
        line(record.name),
        when.absolute(record.moment.timestamp()),
        _STATES.get(record.state, "done"),
        count(len(record.items), "file"),
        f"{when.size(store.kept_size(record))} kept",
        line(record.words[:_LONGEST]),
    )


def document(store: Undo) -> dict[str, Any]:
    """The changes as a JSON document."""
    found = store.listed()
    return {"changes": [_described(store, record) for record in found.records], "unreadable": found.unreadable}


def _described(store: Undo, record: Record) -> dict[str, Any]:
    return {
        "name": record.name,
        "verb": record.verb,
        "words": record.words,
        "when": iso(record.moment),
        "state": record.state,
        "sessions": list(dict.fromkeys(target.session_id for target in targets_of(record.places))),
        "files": [{"kind": item.kind, "path": item.path, "to": item.to} for item in record.items],
        "kept_size": store.kept_size(record),
        "path": str(record.folder),
    }
