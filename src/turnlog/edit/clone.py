"""Makes a new session from an existing one, with new ids for everything and copies of all files that belong to it.

Without edits, the transcript is streamed, so that at most one line is in memory at a time. With edits (`draft`), the
result is checked before anything is written, and is refused if it would be harder to resume than its source.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.apply import NewSession, write_new_session
from turnlog.edit.carried_files import list_carried_files, list_left_out_links
from turnlog.edit.closing_entries import MAX_TITLE_CHARS, build_lineage_entry, build_title_entries, compose_copy_title
from turnlog.edit.draft import Draft, is_torn_line
from turnlog.edit.id_renewal import IdRenewer, create_uuid
from turnlog.edit.illnesses.verdict import check_resumes
from turnlog.edit.session_target import SessionTarget, check_is_session, clean_one_line, find_target
from turnlog.entries.file_ends import open_regular_file
from turnlog.entries.line_decoder import BOM
from turnlog.entries.patch import encode_json_line
from turnlog.entries.peek import read_best_title
from turnlog.entries.reader import Transcript
from turnlog.entries.tail import make_checkpoint
from turnlog.errors import Changed
from turnlog.session.session import Session
from turnlog.work_progress import report_chunks


class ClonedSession(NamedTuple):
    """A session made from another, and counts of what was copied into it."""

    source: SessionTarget
    path: Path
    session_id: str
    title: str
    size: int
    """The size of the new transcript in bytes."""
    files: int
    """The number of other files that were copied."""
    torn_bytes: int = 0
    """The length of the source's incomplete last line, which was left out; 0 if there is none."""
    left_out: tuple[Path, ...] = ()
    """Links among the source's files, which were not followed."""


def clone_session(
    path: Path,
    draft: Draft | None = None,
    *,
    title: str | None = None,
    verb: str = "clone",
    new: str | None = None,
    read: Callable[[Path], Iterable[bytes]] | None = None,
    apart_from: Collection[str] = (),
    project_dir: Path | None = None,
) -> ClonedSession:
    """Make a new session from an existing one, unchanged or as edited in `draft`.

    `read` reads the files that belong to the session; `apart_from` names what the edit is meant to change (see
    `check_resumes`). `project_dir` is the project folder of the new session (default: the source's).
    """
    target = find_target(path)
    check_is_session(target)
    torn_bytes = [draft.torn_bytes if draft else 0]
    draft = draft.without_torn_end() if draft else None
    identity = IdRenewer(target.session_id, new or create_uuid(), draft.file.by_uuid if draft else ())
    new_title = clean_one_line(title, "title", MAX_TITLE_CHARS) if title is not None else _choose_title(target, verb)
    new_session = NewSession(
        (project_dir or target.path.parent) / f"{identity.new}.jsonl",
        target.config_dir or target.path.parent,
        lambda: _build_lines(target, draft, identity, verb, new_title, torn_bytes),
        identity,
        tuple(list_carried_files(target, identity.new, project_dir)),
        new_title,
        read,
    )
    if draft is not None:
        source = Session(draft.file)
        try:
            check_resumes(source, draft, apart_from)
        finally:
            source.close_agents()
    size = write_new_session(new_session)
    return ClonedSession(
        target,
        new_session.path,
        identity.new,
        new_title,
        size,
        len(new_session.files),
        torn_bytes[0],
        tuple(list_left_out_links(target)),
    )


def _choose_title(target: SessionTarget, verb: str) -> str:
    return compose_copy_title(verb, read_best_title(target.path), target.session_id)


def _build_lines(
    target: SessionTarget, draft: Draft | None, identity: IdRenewer, verb: str, title: str, torn_bytes: list[int]
) -> Iterator[bytes]:
    yield encode_json_line(build_lineage_entry(verb, target.session_id, identity.new)) + b"\n"
    rest = (
        _stream_lines(target.path, identity, torn_bytes) if draft is None else draft.iterate_lines(identity.renew_line)
    )
    yield next(rest, b"").removeprefix(BOM)  # clients skip it only at the start of a file
    yield from rest
    for row in build_title_entries(title, identity.new):
        yield encode_json_line(row) + b"\n"


def _stream_lines(path: Path, identity: IdRenewer, torn_bytes: list[int]) -> Iterator[bytes]:
    """Yield the lines of a file up to its current size, with new ids; raise `Changed` if the file is rewritten.

    An incomplete last line is left out, and its length is recorded in `torn_bytes`.
    """
    fd, status = open_regular_file(path)
    remaining = status.st_size
    with os.fdopen(fd, "rb", 1 << 20) as file:
        checkpoint = make_checkpoint(fd, status.st_size)
        file.seek(0)
        for line in report_chunks("copying", file, status.st_size):
            remaining -= len(line)
            if remaining < 0:
                break
            if line[-1:] != b"\n" and all(map(is_torn_line, Transcript.from_bytes(line).items)):
                torn_bytes[0] = len(line)
                break
            renewed = identity.renew_line(line)
            yield renewed if renewed[-1:] == b"\n" else renewed + b"\n"
        if make_checkpoint(fd, status.st_size) != checkpoint:
            raise Changed(f"{path}: the file changed while turnlog was reading it, so nothing was written; try again")
