"""What `turnlog move` does and says."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.cli.config import Config
from turnlog.cli.edit.doubts import agrees_to
from turnlog.cli.edit.undoing import undo
from turnlog.cli.named import folders
from turnlog.cli.output import dump, remark, say
from turnlog.cli.progress import progress
from turnlog.cli.terminal import line
from turnlog.edit.move.move import Moved, move, rehearsed, targets_in
from turnlog.edit.move.plan import Plan, links, plan
from turnlog.edit.undo.opened import doubts_of
from turnlog.errors import NotFound, UsageError
from turnlog.render.figures import count

_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_NAMED = 20


class Wish(NamedTuple):
    """How to move."""

    text: bool = False
    merge: bool = False
    force: bool = False
    dry_run: bool = False
    as_json: bool = False


def relocate(old: str, new: str, wish: Wish, config: Config) -> None:
    """Move the sessions of a folder, or say what that would change."""
    goal = _real(new)
    found = _planned(old, goal, config)
    not_followed = [path for folder in found.folders for path in links(folder)]
    if wish.dry_run:
        done = rehearsed(found, text=wish.text)
    else:
        asked = not wish.force and agrees_to(doubts_of(targets_in(found)), "Move them all the same?")
        told = progress("moving, step {done:,} of {total:,} …")
        done = move(found, undo(), text=wish.text, merge=wish.merge, force=wish.force, asked=asked, progress=told)
    if wish.as_json:
        dump(_document(found, done, not_followed))
    else:
        say(_told(found, done))
    _tell_links(not_followed)
    _remarks(found, wish)


def _planned(old: str, new: str, config: Config) -> Plan:
    """The plan for a path as it was typed or, if nothing was written there, as links lead."""
    typed = _whole(old)
    if typed == new:
        raise UsageError(f"{typed}: is both the old and the new path")
    try:
        return plan(typed, new, folders(config))
    except NotFound:
        real = os.path.realpath(typed)
        if real in (typed, new) or _WINDOWS.match(typed):
            raise
        return plan(real, new, folders(config))


def _whole(path: str) -> str:
    """A path from the root on; one of Windows stays as it is, wherever it is typed."""
    return path if _WINDOWS.match(path) else os.path.abspath(Path(path).expanduser())  # noqa: PTH100 - no links yet


def _real(path: str) -> str:
    """The path by which the client will know the new folder: links are followed as far as there is something."""
    whole = _whole(path)
    return whole if _WINDOWS.match(whole) else os.path.realpath(whole)


def _told(found: Plan, done: Moved) -> Iterator[str]:
    verb, now = ("Moved", "is now") if done.record else ("Would move", "becomes")
    yield line(f"{verb} {count(found.sessions, 'session')}: {found.translation.old} {now} {found.translation.new}")
    for folder in found.folders[:_NAMED]:
        into = f" -> {folder.goal.name}" if folder.goal != folder.source else " stays, with new paths in it"
        yield "  " + line(f"{folder.source}{into}  ({count(len(folder.sessions), 'session')})")
    if len(found.folders) > _NAMED:
        yield f"  and {len(found.folders) - _NAMED} more folders"
    would = "changed" if done.record else "would change"
    yield f"{count(done.lines, 'line')} {would} in {count(done.files, 'file')}"


def _tell_links(not_followed: list[Path]) -> None:
    for path in not_followed[:_NAMED]:
        remark(line(f"{path}: is a link and was not followed; what it leads to keeps the old paths."))
    if len(not_followed) > _NAMED:
        remark(f"and {len(not_followed) - _NAMED:,} more links")


def _remarks(found: Plan, wish: Wish) -> None:
    for folder in found.folders:
        if not folder.is_whole:
            remark(f"{folder.source}: sessions of another folder with the same short name stay, and what they share.")
    if wish.dry_run:
        if found.taken and not wish.merge:
            remark(f"{found.taken[0]}: stands there already; --merge is needed.")
        remark("Nothing was written: this was a dry run.")
        return
    remark("`turnlog undo` takes it back.")
    old, new = found.translation.old, found.translation.new
    if os.path.isdir(old) and not os.path.lexists(new):  # noqa: PTH112 - it may be a path of another system
        remark(f"The folder itself is still {old}; move it to {new} now.")


def _document(found: Plan, done: Moved, not_followed: list[Path]) -> dict[str, Any]:
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
