"""Writes session files for edits: creates a session with all its files, appends to a transcript, or replaces one.

    write_new_session      writes the transcript last, so that a session exists completely or not at all
    append_to_transcript   appends whole lines in one write
    replace_transcript     keeps the original bytes for `turnlog undo`; refuses a session that is open elsewhere

If a process is killed while it is creating a session, it leaves behind files under an id that nothing refers to, and a
note (`unfinished_sessions`). The next edit that creates a session in that folder finds the note and removes the files.
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
"""Returns the lines of a file each time it is called."""


class NewSession(NamedTuple):
    path: Path
    """The path of the transcript, which must not exist yet."""
    root: Path
    """The folder that no path may lead outside of: a config folder, or the transcript's own folder."""
    lines: LineSource
    identity: IdRenewer
    files: tuple[CarriedFile, ...] = ()
    title: str | None = None
    read: Callable[[Path], Iterable[bytes]] | None = None
    """Reads a copied file if its content must change; if the file contains ids, it is read line by line."""


class _IdRenewalIncomplete(Exception):
    """A pass over all lines kept or renewed an id by mistake, so a second pass is needed."""


def write_new_session(new: NewSession) -> int:
    """Write a new session and return the size of its transcript in bytes; if this fails, remove all of its files."""
    with _keep_project_folder(new), _keep_note_while_writing(new):
        try:
            _try_to_write(new, new.identity)
        except _IdRenewalIncomplete:
            new.identity.reset_mistakes()
            _try_to_write(new)
    return new.path.stat().st_size


@contextlib.contextmanager
def _keep_project_folder(new: NewSession) -> Iterator[None]:
    """Create the project's folder if it has no sessions yet; remove it again if no session is created."""
    created: list[Path] = []
    try:
        _create_folders(new.path.parent, new.root, created)
        yield
    except OSError as error:
        _remove_created(created)
        raise TurnlogError(f"{new.path}: {error.strerror or error}; nothing was written") from None
    except BaseException:
        _remove_created(created)
        raise


@contextlib.contextmanager
def _keep_note_while_writing(new: NewSession) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(keep_unfinished_note(new.path, new.root, [file.goal for file in new.files]))
        except OSError as error:
            raise TurnlogError(f"{new.path}: {error.strerror or error}; nothing was written") from None
        yield


def _try_to_write(new: NewSession, checked: IdRenewer | None = None) -> None:
    created: list[Path] = []
    try:
        for file in new.files:
            _create_file(file.goal, _read_carried_content(file, new), new, created)
        if new.title is not None and new.root != new.path.parent:
            sidecar_line = encode_json_line({"customTitle": new.title})
            _create_file(new.path.with_suffix("") / "custom-title.json", [sidecar_line], new, created)
        _create_file(new.path, _iterate_transcript(new, checked), new, created)
    except BaseException:
        _remove_created(created)
        raise


def _iterate_transcript(new: NewSession, checked: IdRenewer | None) -> Iterator[bytes]:
    yield from new.lines()
    if checked is not None and not checked.is_complete:
        raise _IdRenewalIncomplete


def _create_file(path: Path, content: Iterable[bytes], new: NewSession, created: list[Path]) -> None:
    first_folder = path.relative_to(new.root).parts[:-1][:1]
    root = new.root.joinpath(*first_folder)  # `projects` itself may be a link to a folder on another disk
    try:
        _create_folders(path.parent, root, created)
        created.append(path)  # before the file exists: an interrupt can arrive at any moment
        writer.create_session_file(path, content, root=root)
    except FileExistsError:
        created.remove(path)
        raise TurnlogError(f"{path}: the file already exists; nothing was written") from None
    except OSError as error:
        raise TurnlogError(f"{path}: {error.strerror or error}; nothing was written") from None


def _create_folders(folder: Path, root: Path, created: list[Path]) -> None:
    missing = []
    while not folder.exists() and folder != root:
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        resolve_inside(path, root)
        created.append(path)
        path.mkdir(mode=0o700, exist_ok=True)


def _remove_created(created: list[Path]) -> None:
    for path in reversed(created):
        with contextlib.suppress(OSError):  # keep a folder that now contains someone else's files
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink()


def _read_carried_content(file: CarriedFile, new: NewSession) -> Iterable[bytes]:
    """Read a copied file, with new ids if it contains any."""
    content = (new.read or _read_pieces)(file.source)
    if not file.names_ids:
        return content
    return map(new.identity.renew_line if file.source.suffix == ".jsonl" else new.identity.renew_text, content)


def _read_pieces(path: Path) -> Iterator[bytes]:
    """Read a transcript or JSON file line by line, and any other file in blocks."""
    fd, _ = open_regular_file(path)
    with os.fdopen(fd, "rb") as source:
        if path.suffix in (".jsonl", ".json"):
            yield from source
        while block := source.read(_BLOCK_BYTES):
            yield block


def refuse_busy_session(target: SessionTarget, *, force: bool = False) -> None:
    """Refuse to change a session in place while it is open elsewhere; `force` overrides signs that are not certain."""
    signs = select_blocking_signs(find_open_signs(target), force=force)
    if signs:
        raise Busy(f"{target.session_id}: {signs[0].words}; {signs[0].remedy}, or work on a clone")


def create_transcript(path: Path, lines: Iterable[bytes], *, root: Path) -> None:
    """Write a new transcript without any other files; raise `FileExistsError` if the path is taken."""
    writer.create_session_file(path, lines, root=root)


def append_to_transcript(target: SessionTarget, lines: bytes, *, mend: bool) -> None:
    """Append whole lines to a session, even if it is open elsewhere; without `mend`, its last line must be complete."""
    writer.append_lines(target.path, lines, root=target.root, mend=mend)


def replace_transcript(
    target: SessionTarget,
    lines: LineSource,
    undo: Undo,
    *,
    verb: str,
    words: str,
    expected: Checkpoint | None,
    force: bool = False,
) -> UndoRecord:
    """Replace the content of a session's transcript; `turnlog undo` can restore the original."""
    refuse_busy_session(target, force=force)
    return undo.carry_out(verb, words, [RewriteChange(target.path, lines, target.root, expected)])
