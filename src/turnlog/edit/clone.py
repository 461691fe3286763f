"""Making a new session from another: new ids for everything, and all that belongs to it.

Without edits the transcript is streamed: whatever its size, no more than a line is in memory. With edits (`draft`) the
result is judged before anything is written, and refused where it would resume worse than its source.
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


class ClonedSession(NamedTuple):
    """A session that was made from another."""

    source: SessionTarget
    path: Path
    session_id: str
    title: str
    size: int
    """The bytes of its transcript."""
    files: int
    """How many files that belong to it were carried along."""
    torn_bytes: int = 0
    """How long the last line of the source is that is cut off, and was left out."""
    left_out: tuple[Path, ...] = ()
    """Links among what belongs to the source, which were not followed."""


def clone_session(
    path: Path,
    draft: Draft | None = None,
    *,
    title: str | None = None,
    verb: str = "clone",
    new: str | None = None,
    read: Callable[[Path], Iterable[bytes]] | None = None,
    apart_from: Collection[str] = (),
) -> ClonedSession:
    """Make a new session from one, as it stands or as an edit left it.

    `read` reads what belongs to it, `apart_from` names what the edit is meant to change (see `judged`).
    """
    found = find_target(path)
    check_is_session(found)
    torn = [draft.torn_bytes if draft else 0]
    draft = draft.without_torn_end() if draft else None
    identity = IdRenewer(found.session_id, new or create_uuid(), draft.file.by_uuid if draft else ())
    name = clean_one_line(title, "title", MAX_TITLE_CHARS) if title is not None else _choose_title(found, verb)
    made = NewSession(
        found.path.with_name(f"{identity.new}.jsonl"),
        found.config_dir or found.path.parent,
        lambda: _build_lines(found, draft, identity, verb, name, torn),
        identity,
        tuple(list_carried_files(found, identity.new)),
        name,
        read,
    )
    if draft is not None:
        source = Session(draft.file)
        try:
            check_resumes(source, draft, apart_from)
        finally:
            source.close_agents()
    size = write_new_session(made)
    return ClonedSession(
        found, made.path, identity.new, name, size, len(made.files), torn[0], tuple(list_left_out_links(found))
    )


def _choose_title(found: SessionTarget, verb: str) -> str:
    return compose_copy_title(verb, read_best_title(found.path), found.session_id)


def _build_lines(
    found: SessionTarget, draft: Draft | None, identity: IdRenewer, verb: str, title: str, torn: list[int]
) -> Iterator[bytes]:
    yield encode_json_line(build_lineage_entry(verb, found.session_id, identity.new)) + b"\n"
    rest = _stream_lines(found.path, identity, torn) if draft is None else draft.iterate_lines(identity.renew_line)
    yield next(rest, b"").removeprefix(BOM)  # only at the start of a file do clients pass over it
    yield from rest
    for row in build_title_entries(title, identity.new):
        yield encode_json_line(row) + b"\n"


def _stream_lines(path: Path, identity: IdRenewer, torn: list[int]) -> Iterator[bytes]:
    """The lines of a file, as far as it goes now, with new ids; `Changed` if it does more than grow meanwhile.

    A last line that is cut off is left out, and its length noted.
    """
    fd, status = open_regular_file(path)
    left = status.st_size
    with os.fdopen(fd, "rb", 1 << 20) as file:
        begun = make_checkpoint(fd, status.st_size)
        file.seek(0)
        for line in file:
            left -= len(line)
            if left < 0:
                break
            if line[-1:] != b"\n" and all(map(is_torn_line, Transcript.from_bytes(line).items)):
                torn[0] = len(line)
                break
            new = identity.renew_line(line)
            yield new if new[-1:] == b"\n" else new + b"\n"
        if make_checkpoint(fd, status.st_size) != begun:
            raise Changed(f"{path}: was rewritten while it was read; nothing was written, try again")
