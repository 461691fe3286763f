"""Removes secrets from a package: from transcripts entry by entry, and from other files as plain text.

Everything is read twice, so that a secret found once by a rule is replaced everywhere in the package, even in earlier
files. Values without secrets are kept byte for byte.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator
from typing import IO

from turnlog.edit import redaction
from turnlog.edit.draft import Draft
from turnlog.edit.package.contents import SessionContents
from turnlog.edit.package.pack_source import PackSource, inspect_source, split_byte_lines
from turnlog.entries.reader import Transcript
from turnlog.redact.redaction_report import RedactionReport
from turnlog.redact.redactor import Redactor

_MAX_MEMORY_BYTES = 8 << 20
_PIECE_BYTES = 1 << 20


class PackageRedaction:
    """Redacts the files of a package, using the same placeholder for the same secret in all of them."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._mains: set[str] = set()
        self._names: dict[str, str] = {}

    def build_report(self) -> RedactionReport:
        return self._redactor.build_report()

    def redact_text(self, text: str) -> str:
        """Redact a short string, such as a title, without counting it."""
        return self._redactor.make_rehearsal().redact_text(text)

    def redact_name(self, name: str) -> str:
        """Redact the name of a file in the package; the names of sessions and their folders have no secrets."""
        if name in self._names:
            return self._names[name]
        folder, slash, last = name.rpartition("/")
        stem, dot, suffix = redaction.redact_name(last, self._redactor.make_rehearsal()).partition(".")
        new, number = last if name in self._mains else f"{stem}{dot}{suffix}", 1
        while new != last and f"{folder}{slash}{new}" in self._names.values():
            number += 1
            new = f"{stem}-{number}{dot}{suffix}"
        self._names[name] = f"{folder}{slash}{new}"
        return self._names[name]

    def learn_secrets(self, sessions: list[SessionContents]) -> None:
        """Find the secrets in all files."""
        first = self._redactor.make_rehearsal()
        for item in sessions:
            self._mains.add(item.main_name)
            with _open_draft(item.main) as draft:
                redaction.learn_session_secrets(draft, (), first)
            for name, path in item.files.items():
                _drain_pieces(_redact_pieces(first, name, inspect_source(path).read_pieces()))
            _drain_pieces(_redact_pieces(first, "history.jsonl", [item.history]))

    @contextlib.contextmanager
    def spool_redacted(self, name: str, source: PackSource | bytes) -> Iterator[tuple[int, Iterator[bytes]]]:
        """Provide the redacted content of a file and its size, which is needed before the first byte is packed."""
        with tempfile.SpooledTemporaryFile(_MAX_MEMORY_BYTES) as file:
            if isinstance(source, PackSource) and name in self._mains:
                with _open_draft(source) as draft:
                    file.writelines(redaction.redact_draft(draft, self._redactor).without_torn_end().iterate_lines())
            else:
                pieces = [source] if isinstance(source, bytes) else source.read_pieces()
                file.writelines(_redact_pieces(self._redactor, name, pieces))
            size = file.tell()
            file.seek(0)
            yield size, _read_pieces(file)


@contextlib.contextmanager
def _open_draft(main: PackSource) -> Iterator[Draft]:
    """Open the part of a transcript that is to be packed."""
    file = Transcript.open(main.path)
    try:
        draft = Draft.from_transcript(file)
        yield draft._replace(rows=tuple(row for row in draft.rows if row.item and row.item.end <= main.size))
        main.check_unchanged()
    finally:
        file.close()


def _redact_pieces(redactor: Redactor, name: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
    if name.endswith(".jsonl"):
        yield from (redaction.redact_line(line, redactor) for line in split_byte_lines(pieces))
    else:
        yield redactor.redact_file_data(b"".join(pieces), name.rsplit("/", 1)[-1])


def _read_pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(_PIECE_BYTES):
        yield piece


def _drain_pieces(pieces: Iterable[bytes]) -> None:
    for _ in pieces:
        pass
