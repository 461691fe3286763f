"""The texts behind the rows of the index, read from where they stand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import apsw

from turnlog.session.clock import seconds
from turnlog.session.texts.lines import Placed, lines
from turnlog.session.texts.texts import Text, texts
from turnlog.store.search.snippet import Finder, Snippet

Read = Callable[[str, int, bool], bytes | None]
"""The bytes of a file from an offset on, to the end of the line or, if so asked, of a piece; None if they are gone."""


class File(NamedTuple):
    """What is needed of a row of the table `file`."""

    path: str
    kind: str
    session: int
    ended: str | None

    @property
    def end(self) -> int:
        """When it ended, in seconds since 1970: the time of texts that have none, such as titles."""
        return seconds(self.ended)


class Place(NamedTuple):
    """Where a text stands."""

    file: int
    offset: int
    kind: str


class Passages:
    """Gives the texts of an index; remembers what files there are, and the entry that was read last."""

    def __init__(self, db: apsw.Connection, read: Read) -> None:
        self._db = db
        self._read = read
        self._files: dict[int, File] = {}
        self._last: tuple[tuple[int, int], list[Text] | None] | None = None

    def file(self, number: int) -> File:
        """A file by its number."""
        return self._files.get(number) or self.files([number])[number]

    def files(self, numbers: Iterable[int]) -> dict[int, File]:
        """Files by their numbers, these and others."""
        unknown = [number for number in numbers if number not in self._files]
        if unknown:
            query = "SELECT id, path, kind, session, ended FROM file WHERE id IN (SELECT value FROM json_each(?))"
            rows: list[Any] = self._db.execute(query, (json.dumps(unknown),)).fetchall()
            self._files.update({number: File(*rest) for number, *rest in rows})
        return self._files

    def snippet(self, place: Place, finder: Finder) -> Snippet | None:
        """The best piece of a text; None if it is gone."""
        found = self._texts(place)
        if not found:
            return None
        snippets = [finder.snippet(text) for text in found]
        return max(snippets, key=lambda item: (item.terms, item.exact, len(item.ranges)))

    def _texts(self, place: Place) -> list[str]:
        """What stands at a place: an entry may hold several texts of a kind."""
        found = self._entry(place)
        if found is None:
            return []
        wanted = [text for text in found if text.kind == place.kind]
        return ["\n".join([text.words, *(path for path in text.paths if path not in text.words)]) for text in wanted]

    def _entry(self, place: Place) -> list[Text] | None:
        key = place.file, place.offset
        if self._last is None or self._last[0] != key:
            self._last = key, self._decoded(place)
        return self._last[1]

    def _decoded(self, place: Place) -> list[Text] | None:
        file = self.file(place.file)
        raw = self._read(file.path, place.offset, file.kind == "output")
        if raw is None:
            return None
        if file.kind == "output":
            return [Text("result", raw.decode("utf-8", "replace"))]
        placed = next(lines([raw], place.offset), None)
        return None if placed is None else [*texts(placed), *_place_of_work(placed)]


def _place_of_work(placed: Placed) -> list[Text]:
    """The folder and branch of an entry, which are searchable where they change."""
    names = [name for name in (placed.line.cwd, placed.line.git_branch) if name]
    return [Text("other", "\n".join(names))] if names else []
