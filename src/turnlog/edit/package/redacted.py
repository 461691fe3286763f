"""Secrets out of a package: transcripts entry by entry, other files as texts.

Everything is read twice: a secret that a rule finds once is then replaced wherever it stands in the package, also
before. Values without secrets stay byte for byte as they are.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator
from typing import IO

from turnlog.edit import redaction
from turnlog.edit.draft import Draft
from turnlog.edit.package.contents import Contents
from turnlog.edit.package.lines import lines
from turnlog.edit.package.source import Source, source
from turnlog.entries.reader import Transcript
from turnlog.redact.redactor import Redactor
from turnlog.redact.report import Report

_MEMORY = 8 << 20
_PIECE = 1 << 20


class Redaction:
    """Redacts the files of one package; the same secret gets the same mark in all of them."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._mains: set[str] = set()

    def report(self) -> Report:
        """What was replaced."""
        return self._redactor.report()

    def text(self, text: str) -> str:
        """A short text, such as a title."""
        return self._redactor.rehearsal().text(text)

    def learn(self, chosen: list[Contents]) -> None:
        """Take note of the secrets in all files."""
        first = self._redactor.rehearsal()
        for item in chosen:
            self._mains.add(item.main_name)
            with _draft(item.main) as draft:
                redaction.learn(draft, (), first)
            for name, path in item.files.items():
                _drain(_redacted(first, name, source(path).pieces()))
            _drain(_redacted(first, "history.jsonl", [item.history]))

    @contextlib.contextmanager
    def spooled(self, name: str, looked: Source | bytes) -> Iterator[tuple[int, Iterator[bytes]]]:
        """The redacted bytes of a file, and how many they are: that must be known before the first is packed."""
        with tempfile.SpooledTemporaryFile(_MEMORY) as file:
            if isinstance(looked, Source) and name in self._mains:
                with _draft(looked) as draft:
                    file.writelines(redaction.redacted(draft, self._redactor).without_torn_end().lines())
            else:
                pieces = [looked] if isinstance(looked, bytes) else looked.pieces()
                file.writelines(_redacted(self._redactor, name, pieces))
            size = file.tell()
            file.seek(0)
            yield size, _read(file)


@contextlib.contextmanager
def _draft(main: Source) -> Iterator[Draft]:
    """A transcript as far as it is packed."""
    file = Transcript.open(main.path)
    try:
        draft = Draft.of(file)
        yield draft._replace(rows=tuple(row for row in draft.rows if row.item and row.item.end <= main.size))
        main.must_hold()
    finally:
        file.close()


def _redacted(redactor: Redactor, name: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
    if name.endswith(".jsonl"):
        yield from (redaction.redacted_line(line, redactor) for line in lines(pieces))
    else:
        yield redactor.plain(b"".join(pieces), name.rsplit("/", 1)[-1])


def _read(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece


def _drain(pieces: Iterable[bytes]) -> None:
    for _ in pieces:
        pass
