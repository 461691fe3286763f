"""The topic and facts of a session file, folded line by line.

Folding the rest of a file into an earlier outline gives the same result as folding the whole file.
"""

from __future__ import annotations

from collections.abc import Sequence

from turnlog.entries.titles import TITLE_FIELDS, SessionTitles, to_title
from turnlog.session.prompts import holds_typed_text
from turnlog.session.texts.line_heads import PlacedHead
from turnlog.session.texts.lines import PlacedLine, TextLine

_SPEAKER_TYPES = ("user", "assistant")
_SILENT_TYPES = frozenset(("assistant", "progress", "file-history-snapshot"))
"""The most frequent types of which an outline takes only what every entry has."""


class TranscriptOutline(SessionTitles):
    """Facts about a file, collected from its entries."""

    entries: int = 0
    broken: int = 0
    """Lines that should be entries but are not."""
    prompts: int = 0
    """Entries of the main conversation that contain what a person typed."""
    talks: int = 0
    """1 if any user or assistant entry does not belong to a sub-agent; a number, as the index stores it."""
    compactions: int = 0
    started: str | None = None
    """The earliest timestamp."""
    ended: str | None = None
    """The latest timestamp."""
    cwd: str | None = None
    """The working folder in which it started."""
    last_cwd: str | None = None
    git_branch: str | None = None
    version: str | None = None
    root: str | None = None
    """The uuid of the first entry that has one; copies of a session share it."""
    forked_from: str | None = None
    """The id of the session that it was forked from, according to an entry."""
    made_by: str | None = None
    """How turnlog made it from that session (clone, fork, repair); None if it did not."""
    tag: str | None = None

    def add_placed_line(self, placed: PlacedLine | PlacedHead) -> None:
        """Fold the next entry into the outline."""
        self.add_envelopes((placed.line,))
        self.add_content(placed)

    def add_envelopes(self, lines: Sequence[TextLine]) -> None:
        """Fold what every entry may have, for the next entries; each field is only looked for as long as necessary."""
        self.entries += len(lines)
        if times := [time for line in lines if (time := line.timestamp) is not None and time[4:5] == "-"]:
            self.started = min(times) if self.started is None else min(self.started, *times)
            self.ended = max(times) if self.ended is None else max(self.ended, *times)
        self.version = next((line.version for line in reversed(lines) if line.version is not None), self.version)
        if self.root is None:
            self.root = next((line.uuid for line in lines if line.uuid is not None), None)
        if not self.talks:
            self.talks = int(any(line.type in _SPEAKER_TYPES and not line.is_sidechain for line in lines))
        if self.forked_from is None:
            origins = (line.forked_from.get("sessionId") for line in lines if isinstance(line.forked_from, dict))
            self.forked_from = next((origin for origin in origins if isinstance(origin, str)), None)

    def add_content(self, placed: PlacedLine | PlacedHead) -> None:
        """Fold what the next entry says: a prompt, a title, a note by the client."""
        kind = placed.line.type
        if kind == "user":
            self._take_prompt(placed)
        elif kind not in _SILENT_TYPES:
            self._take_note(placed)

    def find_move(self, line: TextLine) -> str | None:
        """Return the folder or branch to which the work moved; None if neither changed."""
        if line.cwd == self.last_cwd and line.git_branch == self.git_branch:
            return None
        pairs = (line.cwd, self.last_cwd), (line.git_branch, self.git_branch)
        found = [name for name, old in pairs if name and name != old]
        self.last_cwd, self.git_branch = line.cwd or self.last_cwd, line.git_branch or self.git_branch
        self.cwd = self.cwd or self.last_cwd
        return "\n".join(found) or None

    def _take_prompt(self, placed: PlacedLine | PlacedHead) -> None:
        message = placed.line.message
        content = message.content if message is not None else None
        kinds = {block.type for block in content} if isinstance(content, list) else {"text"} if content else set()
        if self.first_prompt is None and "text" in kinds:
            self.add_user(placed.body)
        if kinds and "tool_result" not in kinds and not placed.line.is_sidechain:
            self.prompts += holds_typed_text("user", placed.body)

    def _take_note(self, placed: PlacedLine | PlacedHead) -> None:
        kind = placed.line.type or ""
        if kind in TITLE_FIELDS:
            self.add_title(kind, placed.body)
        elif kind == "attachment":
            if b'"queued_command"' in placed.raw and not placed.line.is_sidechain:
                self.prompts += holds_typed_text(kind, placed.body)
        elif kind == "tag":  # an empty tag removes it
            self.tag = to_title(placed.body.get("tag"))
        elif kind == "turnlog":
            verb = placed.body.get("verb")
            self.made_by = verb if isinstance(verb, str) and verb.isalpha() and len(verb) < 20 else None
        elif kind == "system" and b'"compact_boundary"' in placed.raw:
            self.compactions += placed.body.get("subtype") == "compact_boundary"
