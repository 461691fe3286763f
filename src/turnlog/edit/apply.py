"""How edits write session files: they create a session with all that belongs to it, append to one, or replace one.

    write_new_session      files that belong to it first, the transcript last: a session exists as a whole or not at all
    append_to_transcript   one write of whole lines
    replace_transcript     keeps the original bytes for `turnlog undo`; refuses a session that is open elsewhere

A process that is killed while it creates a session leaves files under an id that nothing names, and a note
(`unfinished_sessions`). Whatever creates the next session in that folder finds the note and removes them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.carried_files import CarriedFile
from turnlog.edit.id_renewal import IdRenewer
from turnlog.edit.open_signs import find_open_signs, select_blocking_signs
from turnlog.edit.session_target import SessionTarget
from turnlog.edit.undo.undo import RewriteChange, Undo, UndoRecord
from turnlog.edit.unfinished_sessions import keep_unfinished_note
from turnlog.entries import writer
from turnlog.entries.atomic_file import resolve_inside
from turnlog.entries.file_ends import open_regular_file
from turnlog.entries.patch import encode_json_line
from turnlog.entries.tail import Checkpoint
from turnlog.errors import Busy, TurnlogError

_BLOCK_BYTES = 1 << 20
LineSource = Callable[[], Iterable[bytes]]
"""Gives the lines of a file, as often as it is asked."""


class NewSession(NamedTuple):
    """A session that is to be made."""

    path: Path
    """Where its transcript will be; nothing may stand there."""
    root: Path
    """The folder that nothing may lead out of: a config folder, or the transcript's own."""
    lines: LineSource
    identity: IdRenewer
    files: tuple[CarriedFile, ...] = ()
    title: str | None = None
    read: Callable[[Path], Iterable[bytes]] | None = None
    """How a file that is carried along is read, if not as it is; line by line where ids are in it."""


class _IdsUnsettled(Exception):
    """An id was passed over that turned out to be the session's."""


def write_new_session(new: NewSession) -> int:
    """Write a new session; gives the bytes of its transcript. On any failure nothing of it stays."""
    with _keep_note_while_writing(new):
        try:
            _try_to_write(new, new.identity)
        except _IdsUnsettled:
            new.identity.reset_mistakes()
            _try_to_write(new)
    return new.path.stat().st_size


@contextlib.contextmanager
def _keep_note_while_writing(new: NewSession) -> Iterator[None]:
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(keep_unfinished_note(new.path, new.root, [file.goal for file in new.files]))
        except OSError as error:
            raise TurnlogError(f"{new.path}: {error.strerror or error}; nothing was written") from None
        yield


def _try_to_write(new: NewSession, settled: IdRenewer | None = None) -> None:
    made: list[Path] = []
    try:
        for file in new.files:
            _create_file(file.goal, _read_carried_content(file, new), new, made)
        if new.title is not None and new.root != new.path.parent:
            beside = encode_json_line({"customTitle": new.title})
            _create_file(new.path.with_suffix("") / "custom-title.json", [beside], new, made)
        _create_file(new.path, _iterate_transcript(new, settled), new, made)
    except BaseException:
        _remove_created(made)
        raise


def _iterate_transcript(new: NewSession, settled: IdRenewer | None) -> Iterator[bytes]:
    yield from new.lines()
    if settled is not None and not settled.is_complete:
        raise _IdsUnsettled


def _create_file(goal: Path, content: Iterable[bytes], new: NewSession, made: list[Path]) -> None:
    top = goal.relative_to(new.root).parts[:-1][:1]
    root = new.root.joinpath(*top)  # `projects` itself may be a link: people keep it on another disk
    try:
        _create_folders(goal.parent, root, made)
        made.append(goal)  # before it is there: an interrupt may come at any moment
        writer.create_session_file(goal, content, root=root)
    except FileExistsError:
        made.remove(goal)
        raise TurnlogError(f"{goal}: stands there already; nothing was written") from None
    except OSError as error:
        raise TurnlogError(f"{goal}: {error.strerror or error}; nothing was written") from None


def _create_folders(folder: Path, root: Path, made: list[Path]) -> None:
    missing = []
    while not folder.exists() and folder != root:
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        resolve_inside(path, root)
        made.append(path)
        path.mkdir(mode=0o700, exist_ok=True)


def _remove_created(made: list[Path]) -> None:
    for path in reversed(made):
        with contextlib.suppress(OSError):  # a folder that somebody else has put something into stays
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink()


def _read_carried_content(file: CarriedFile, new: NewSession) -> Iterable[bytes]:
    """The bytes of a file that is carried along, with new ids where it names some."""
    read = (new.read or _read_pieces)(file.source)
    if not file.names_ids:
        return read
    return map(new.identity.renew_line if file.source.suffix == ".jsonl" else new.identity.renew_text, read)


def _read_pieces(path: Path) -> Iterator[bytes]:
    """A transcript line by line, another file in blocks."""
    fd, _ = open_regular_file(path)
    with os.fdopen(fd, "rb") as source:
        if path.suffix in (".jsonl", ".json"):
            yield from source
        while block := source.read(_BLOCK_BYTES):
            yield block


def refuse_busy_session(found: SessionTarget, *, force: bool = False) -> None:
    """Refuse to change a session in place that is open elsewhere; `force` overrides what is only a suspicion."""
    told = select_blocking_signs(find_open_signs(found), force=force)
    if told:
        raise Busy(f"{found.session_id}: {told[0].words}; {told[0].remedy}, or work on a clone")


def create_transcript(path: Path, lines: Iterable[bytes], *, root: Path) -> None:
    """Write a new transcript that no other files belong to; raises `FileExistsError` if the path is taken."""
    writer.create_session_file(path, lines, root=root)


def append_to_transcript(found: SessionTarget, lines: bytes, *, mend: bool) -> None:
    """Append whole lines to a session, also one that is open elsewhere; without `mend` only behind a complete line."""
    writer.append_lines(found.path, lines, root=found.root, mend=mend)


def replace_transcript(
    found: SessionTarget,
    lines: LineSource,
    undo: Undo,
    *,
    verb: str,
    words: str,
    expected: Checkpoint | None,
    force: bool = False,
) -> UndoRecord:
    """Put another content in the place of a session's transcript; the original can be had again."""
    refuse_busy_session(found, force=force)
    return undo.carry_out(verb, words, [RewriteChange(found.path, lines, found.root, expected)])
