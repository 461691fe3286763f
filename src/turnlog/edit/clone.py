"""Making a new session from another: new ids for everything, and all that belongs to it.

Without edits the transcript is streamed: whatever its size, no more than a line is in memory. With edits (`draft`) the
result is judged before anything is written, and refused where it would resume worse than its source.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.apply import NewSession, create
from turnlog.edit.carried import carried, left_out
from turnlog.edit.draft import Draft, is_torn
from turnlog.edit.ending import LONGEST, lineage, title_of_made, titles
from turnlog.edit.identity import Identity, new_id
from turnlog.edit.judged import must_resume
from turnlog.edit.target import Target, must_be_session, one_line, target
from turnlog.entries.decode import BOM
from turnlog.entries.patch import encoded
from turnlog.entries.peeks import title_of
from turnlog.entries.reader import Transcript
from turnlog.entries.tail import mark
from turnlog.entries.window import open_regular
from turnlog.errors import Changed
from turnlog.session.session import Session


class Made(NamedTuple):
    """A session that was made from another."""

    source: Target
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


def clone(
    path: Path,
    draft: Draft | None = None,
    *,
    title: str | None = None,
    verb: str = "clone",
    new: str | None = None,
    read: Callable[[Path], Iterable[bytes]] | None = None,
    apart_from: Collection[str] = (),
) -> Made:
    """Make a new session from one, as it stands or as an edit left it.

    `read` reads what belongs to it, `apart_from` names what the edit is meant to change (see `judged`).
    """
    found = target(path)
    must_be_session(found)
    torn = [draft.torn_bytes if draft else 0]
    draft = draft.without_torn_end() if draft else None
    identity = Identity(found.session_id, new or new_id(), draft.file.by_uuid if draft else ())
    name = one_line(title, "title", LONGEST) if title is not None else _title(found, verb)
    made = NewSession(
        found.path.with_name(f"{identity.new}.jsonl"),
        found.config_dir or found.path.parent,
        lambda: _lines(found, draft, identity, verb, name, torn),
        identity,
        tuple(carried(found, identity.new)),
        name,
        read,
    )
    if draft is not None:
        source = Session(draft.file)
        try:
            must_resume(source, draft, apart_from)
        finally:
            source.close_agents()
    size = create(made)
    return Made(found, made.path, identity.new, name, size, len(made.files), torn[0], tuple(left_out(found)))


def _title(found: Target, verb: str) -> str:
    return title_of_made(verb, title_of(found.path), found.session_id)


def _lines(
    found: Target, draft: Draft | None, identity: Identity, verb: str, title: str, torn: list[int]
) -> Iterator[bytes]:
    yield encoded(lineage(verb, found.session_id, identity.new)) + b"\n"
    rest = _streamed(found.path, identity, torn) if draft is None else draft.lines(identity.line)
    yield next(rest, b"").removeprefix(BOM)  # only at the start of a file do clients pass over it
    yield from rest
    for row in titles(title, identity.new):
        yield encoded(row) + b"\n"


def _streamed(path: Path, identity: Identity, torn: list[int]) -> Iterator[bytes]:
    """The lines of a file, as far as it goes now, with new ids; `Changed` if it does more than grow meanwhile.

    A last line that is cut off is left out, and its length noted.
    """
    fd, status = open_regular(path)
    left = status.st_size
    with os.fdopen(fd, "rb", 1 << 20) as file:
        begun = mark(fd, status.st_size)
        file.seek(0)
        for line in file:
            left -= len(line)
            if left < 0:
                break
            if line[-1:] != b"\n" and all(map(is_torn, Transcript.of(line).items)):
                torn[0] = len(line)
                break
            new = identity.line(line)
            yield new if new[-1:] == b"\n" else new + b"\n"
        if mark(fd, status.st_size) != begun:
            raise Changed(f"{path}: was rewritten while it was read; nothing was written, try again")
