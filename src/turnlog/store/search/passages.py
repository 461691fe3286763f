"""The texts that the rows of the index refer to, read from their files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import apsw

from turnlog.session.clock import to_epoch_seconds
from turnlog.session.texts.lines import PlacedLine, read_text_lines
from turnlog.session.texts.texts import SearchText, join_result, list_search_texts
from turnlog.store.search.snippet import Snippet, TermFinder

PassageReader = Callable[[str, int, bool], bytes | None]
"""Returns the line at an offset in a file or, if requested, a large piece; None if it can't be read."""


class PassageFile(NamedTuple):
    """The columns of the `file` table that are needed to read a text."""

    path: str
    kind: str
    session: int
    ended: str | None

    @property
    def end(self) -> int:
        """The time of the file's last entry in seconds since 1970, used for texts without a time, such as titles."""
        return to_epoch_seconds(self.ended)


class PassagePlace(NamedTuple):
    """The location of a text."""

    file: int
    offset: int
    kind: str


class Passages:
    """Reads the texts in an index; caches the files and the entry that was read last."""

    def __init__(self, db: apsw.Connection, read: PassageReader) -> None:
        self._db = db
        self._read = read
        self._files: dict[int, PassageFile] = {}
        self._last: tuple[tuple[int, int], list[SearchText] | None] | None = None

    def get_file(self, number: int) -> PassageFile:
        return self._files.get(number) or self.get_files([number])[number]

    def get_files(self, numbers: Iterable[int]) -> dict[int, PassageFile]:
        """Return at least the files with these numbers."""
        unknown = [number for number in numbers if number not in self._files]
        if unknown:
            query = "SELECT id, path, kind, session, ended FROM file WHERE id IN (SELECT value FROM json_each(?))"
            rows: list[Any] = self._db.execute(query, (json.dumps(unknown),)).fetchall()
            self._files.update({number: PassageFile(*rest) for number, *rest in rows})
        return self._files

    def build_snippet(self, place: PassagePlace, finder: TermFinder) -> Snippet | None:
        """Return the best excerpt of a text; None if the text can't be read."""
        return build_best_snippet(self.list_texts(place), finder)

    def list_texts(self, place: PassagePlace) -> list[SearchText]:
        """List the texts at a place, of which an entry may contain several of one kind; none if it can't be read."""
        return [text for text in self._read_entry(place) or [] if text.kind == place.kind]

    def _read_entry(self, place: PassagePlace) -> list[SearchText] | None:
        key = place.file, place.offset
        if self._last is None or self._last[0] != key:
            self._last = key, self._decode_entry(place)
        return self._last[1]

    def _decode_entry(self, place: PassagePlace) -> list[SearchText] | None:
        file = self.get_file(place.file)
        raw = self._read(file.path, place.offset, file.kind == "output")
        if raw is None:
            return None
        if file.kind == "output":
            return [SearchText("result", raw.decode("utf-8", "replace"))]
        placed = next(read_text_lines([raw], place.offset), None)
        if placed is None:
            return None
        texts = list_search_texts(placed)
        join_result(texts)
        return [*texts, *_list_workplace_texts(placed)]


def build_best_snippet(texts: Iterable[SearchText], finder: TermFinder) -> Snippet | None:
    """Return the best excerpt of some texts; None if there are none."""
    snippets = [finder.build_snippet(_join_paths(text)) for text in texts]
    return max(snippets, key=lambda item: (item.terms, item.exact, len(item.ranges)), default=None)


def _join_paths(text: SearchText) -> str:
    return "\n".join([text.words, *(path for path in text.paths if path not in text.words)])


def _list_workplace_texts(placed: PlacedLine) -> list[SearchText]:
    """Return the folder and branch of an entry, which are searchable at the entries where they change."""
    names = [name for name in (placed.line.cwd, placed.line.git_branch) if name]
    return [SearchText("other", "\n".join(names))] if names else []
