"""New content of files, in a private folder until all of it is there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.redaction import redact_name
from turnlog.edit.store_redaction.redacted_content import iterate_redacted
from turnlog.edit.store_redaction.stores import TextStore
from turnlog.edit.undo.undo import FileChange, RenameChange, RewriteChange
from turnlog.entries.file_ends import open_regular_file
from turnlog.entries.tail import Checkpoint, make_checkpoint
from turnlog.errors import TurnlogError
from turnlog.redact.redactor import Redactor

_PIECE_BYTES = 1 << 20


class NewContent(NamedTuple):
    """A file without its secrets, in the private folder."""

    store: TextStore
    path: Path
    content: Path
    is_changed: bool
    new_name: str
    checkpoint: Checkpoint
    """The state of the file when it was read."""


class ProblemList:
    """Collects what can't be read, so that one file does not hide the others."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def __enter__(self) -> ProblemList:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> bool:
        if isinstance(error, TurnlogError | OSError):
            self.words.append(str(error))
            return True
        return False


def write_content(store: TextStore, path: Path, content: Path, redactor: Redactor) -> NewContent:
    checkpoint = read_checkpoint(path)
    with content.open("xb") as file:
        file.writelines(iterate_redacted(path, redactor))
    is_changed, name = not _is_equal(path, content), redact_name(path.name, redactor)
    return NewContent(store, path, content, is_changed, name, checkpoint)


def read_checkpoint(path: Path) -> Checkpoint:
    fd, status = open_regular_file(path)
    try:
        return make_checkpoint(fd, status.st_size)
    finally:
        os.close(fd)


def list_pieces(data: bytes) -> list[bytes]:
    return [data]


def _is_equal(path: Path, other: Path) -> bool:
    if path.stat().st_size != other.stat().st_size:
        return False
    return all(one == two for one, two in zip(read_pieces(path), read_pieces(other), strict=False))


def read_pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            yield piece


def plan_file_changes(new: NewContent) -> Iterator[FileChange]:
    if new.is_changed:
        yield plan_rewritten_file(new.path, new.content, new.store.root, new.checkpoint)
    if new.new_name != new.path.name:
        yield RenameChange(new.path, new.path.with_name(new.new_name), new.store.root)


def plan_rewritten_file(path: Path, content: Path, root: Path, checkpoint: Checkpoint) -> RewriteChange:
    return RewriteChange(path, partial(read_pieces, content), root, checkpoint)
