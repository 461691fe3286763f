"""The content of a file without its secrets, whatever kind of file it is."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator
from pathlib import Path

from turnlog.edit.draft import Draft
from turnlog.edit.redaction import learn_session_secrets, redact_draft, redact_file
from turnlog.edit.store_redaction.protobuf_texts import mask_texts
from turnlog.entries.layout import is_session_id
from turnlog.entries.reader import Transcript
from turnlog.redact.redactor import Redactor

_GZIP_WINDOW_BITS = 31
_BINARY_MARK = b"\0"
"""Makes bytes binary, so that what is in them keeps its place."""
_AGENT_PREFIX = "agent-"


def learn_file(path: Path, redactor: Redactor) -> None:
    """Record the secrets in a file, so that they are replaced wherever they occur."""
    if is_transcript(path):
        with _open_draft(path) as draft:
            learn_session_secrets(draft, (), redactor)
        return
    for _ in redact_file(path, redactor.make_rehearsal()):
        pass


def iterate_redacted(path: Path, redactor: Redactor) -> Iterator[bytes]:
    """Yield a file without its secrets; entries of a transcript that become empty are left out, as in a clone."""
    if is_transcript(path):
        with _open_draft(path) as draft:
            yield from redact_draft(draft, redactor).iterate_lines()
        return
    yield from redact_file(path, redactor)


def redact_blob(data: bytes, redactor: Redactor) -> bytes:
    """Redact bytes from a database, which may be compressed with gzip."""
    try:
        plain = zlib.decompress(data, _GZIP_WINDOW_BITS)
    except zlib.error:
        return redactor.redact_file_data(data)
    redacted = mask_texts(plain, lambda piece: redactor.redact_file_data(piece + _BINARY_MARK)[:-1])
    return data if redacted == plain else zlib.compress(redacted, 1, _GZIP_WINDOW_BITS)


def is_transcript(path: Path) -> bool:
    return path.suffix == ".jsonl" and (is_session_id(path.stem) or path.stem.startswith(_AGENT_PREFIX))


@contextlib.contextmanager
def _open_draft(path: Path) -> Iterator[Draft]:
    file = Transcript.open(path)
    try:
        yield Draft.from_transcript(file)
    finally:
        file.close()
