"""The names that a session goes by, folded entry by entry in the order of the file.

The list of sessions, the index and whoever opens a session must call it the same. They read it in different ways, so
they share this fold: the last title of each kind counts, and the first words that a person typed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from msgspec import Struct

from turnlog.entries.file_ends import open_regular_file
from turnlog.entries.line_decoder import complete_body, decode_first_object
from turnlog.entries.typed_text import MAX_LISTED_CHARS, read_typed_command, read_typed_text

TITLE_FIELDS = {
    "custom-title": ("customTitle", "custom"),
    "ai-title": ("aiTitle", "ai"),
    "summary": ("summary", "summary"),
    "last-prompt": ("lastPrompt", "last_prompt"),
}
"""The types of entries that name a session: the field with the name, and where `Titles` keeps it."""
TITLE_ORDER = ("custom", "ai", "summary", "first_prompt", "first_command", "last_prompt", "aside_prompt")
"""Which name is shown: the first of these that there is."""

_PARENT_FIRST = b'{"parentUuid":'
_TYPE_FIRST = b'{"type":"'
_LINE_MARKS = (b'"user"', b'-title"', b'"summary"', b'"last-prompt"')
_READ_BYTES = 1 << 20


class SessionNames(Struct, frozen=True):
    """The names of a session as JSON documents have them."""

    custom: str | None
    """Given by a person."""
    ai: str | None
    """Given by the model."""
    summary: str | None
    """Given by old clients."""
    first_prompt: str | None
    first_command: str | None
    """The first slash or `!` command, if it came before the first prompt."""
    last_prompt: str | None


class SessionTitles(Struct):
    """The names of a session."""

    custom: str | None = None
    """Given by a person."""
    ai: str | None = None
    """Given by the model."""
    summary: str | None = None
    """The title that clients up to 2.1.22 gave; the last one, which may be another session's."""
    first_prompt: str | None = None
    """The first words that a person typed."""
    first_command: str | None = None
    """The first slash or `!` command, if it came before the first prompt."""
    last_prompt: str | None = None
    """What was typed last, where the client noted it."""
    aside_prompt: str | None = None
    """The first prompt of a sub-agent inside the file: the only one in a sub-agent's own file."""

    @property
    def best(self) -> str | None:
        """The name to show; the column `title` of the index is made by the same order."""
        return next((title for name in TITLE_ORDER if (title := getattr(self, name))), None)

    @property
    def names(self) -> SessionNames:
        """All names but that of a sub-agent."""
        return SessionNames(self.custom, self.ai, self.summary, self.first_prompt, self.first_command, self.last_prompt)

    def add_title(self, kind: str, row: dict[str, Any]) -> None:
        """Fold an entry whose type is one of TITLE_FIELDS; one without a name changes nothing."""
        field, name = TITLE_FIELDS[kind]
        if title := to_title(row.get(field)):
            setattr(self, name, title)

    def add_user(self, row: dict[str, Any]) -> None:
        """Fold a user entry."""
        if self.first_prompt is not None:
            return
        if row.get("isSidechain") is True:
            self.aside_prompt = self.aside_prompt or to_title(read_typed_text(row))
        elif prompt := to_title(read_typed_text(row)):
            self.first_prompt = prompt
        else:
            self.first_command = self.first_command or to_title(read_typed_command(row))

    def add_line(self, line: bytes) -> None:
        """Fold a line of the file; hardly any has to be decoded."""
        if line.startswith(_PARENT_FIRST):
            # The client writes no title with a parent.
            if self.first_prompt is not None or b'"user"' not in line:
                return
        elif line.startswith(_TYPE_FIRST):
            kind = line[9 : line.find(b'"', 9)].decode("utf-8", "replace")
            if kind not in TITLE_FIELDS and kind != "user":
                return
        elif not any(mark in line for mark in _LINE_MARKS):
            return
        if row := decode_first_object(line):
            self.add_row(complete_body(row) or row)

    def add_row(self, row: dict[str, Any]) -> None:
        """Fold a decoded entry."""
        kind = row.get("type")
        if kind == "user":
            self.add_user(row)
        elif isinstance(kind, str) and kind in TITLE_FIELDS:
            self.add_title(kind, row)


def to_title(value: object) -> str | None:
    """A text that can be printed and is not too long; None for anything else."""
    if not isinstance(value, str) or not value:
        return None
    text = value[:MAX_LISTED_CHARS]
    if text.isascii():
        return text
    # A lone surrogate, which JSON can spell, would raise when it is printed.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def read_titles(path: str | Path) -> SessionTitles:
    """Read a whole file for the names of its session; raises `OSError` and nothing else."""
    found = SessionTitles()
    fd, _ = open_regular_file(path)
    with os.fdopen(fd, "rb", _READ_BYTES) as file:
        for line in file:
            found.add_line(line)
    return found
