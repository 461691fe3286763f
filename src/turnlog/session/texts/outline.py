"""What a session file is about, folded line by line.

Folding a tail onto what was folded before gives what folding the whole gives.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from turnlog.entries.marks import as_typed, separated, tagged
from turnlog.entries.typed import LONGEST
from turnlog.session.texts.lines import Line, Placed
from turnlog.session.texts.texts import Text

_TITLES = {"custom-title": "custom_title", "ai-title": "ai_title", "summary": "summary", "tag": "tag"}


class Outline(Struct):
    """What the entries of a file say of it as a whole."""

    entries: int = 0
    broken: int = 0
    """Lines that should be entries and are none."""
    prompts: int = 0
    """Entries that hold what a person typed."""
    compactions: int = 0
    started: str | None = None
    """The earliest timestamp."""
    ended: str | None = None
    """The latest timestamp."""
    cwd: str | None = None
    """The working folder in which it began."""
    last_cwd: str | None = None
    git_branch: str | None = None
    version: str | None = None
    root: str | None = None
    """The uuid of the first entry that has one: copies of a session share it."""
    forked_from: str | None = None
    """The id of the session that an entry says it was forked from."""
    made_by: str | None = None
    """How turnlog made it from that one: clone, fork, repair; None: it did not."""
    custom_title: str | None = None
    ai_title: str | None = None
    summary: str | None = None
    tag: str | None = None
    first_prompt: str | None = None
    last_prompt: str | None = None

    def add(self, placed: Placed, texts: Sequence[Text]) -> None:
        """Fold the next entry."""
        line = placed.line
        self.entries += 1
        if (time := line.timestamp) is not None and time[4:5] == "-":
            if self.ended is None or time > self.ended:
                self.ended = time
            if self.started is None or time < self.started:
                self.started = time
        if line.version is not None:
            self.version = line.version
        if self.root is None and line.uuid is not None:
            self.root = line.uuid
        if line.forked_from is not None and self.forked_from is None and isinstance(line.forked_from, dict):
            origin = line.forked_from.get("sessionId")
            self.forked_from = origin if isinstance(origin, str) else None
        if line.type in ("user", "attachment"):
            self._prompted(line, texts)
        elif line.type != "assistant":
            self._noted(placed, texts)

    def moved(self, line: Line) -> str | None:
        """Where the work went on from here, if that is another folder or branch than before."""
        if line.cwd == self.last_cwd and line.git_branch == self.git_branch:
            return None
        pairs = (line.cwd, self.last_cwd), (line.git_branch, self.git_branch)
        found = [name for name, old in pairs if name and name != old]
        self.last_cwd, self.git_branch = line.cwd or self.last_cwd, line.git_branch or self.git_branch
        self.cwd = self.cwd or self.last_cwd
        return "\n".join(found) or None

    def _prompted(self, line: Line, texts: Sequence[Text]) -> None:
        words = [text.words for text in texts if text.kind == "prompt"]
        if not words:
            return
        self.prompts += 1
        if not line.is_sidechain or self.first_prompt is None:
            rest = separated("\n".join(words)).rest
            typed = (as_typed(rest) if tagged(rest) in ("command", "bash") else rest)[:LONGEST]
            self.first_prompt = self.first_prompt or typed
            self.last_prompt = typed or self.last_prompt

    def _noted(self, placed: Placed, texts: Sequence[Text]) -> None:
        if placed.line.type == "turnlog":
            verb = placed.body.get("verb")
            self.made_by = verb if isinstance(verb, str) and verb.isalpha() and len(verb) < 20 else None
            return
        field = _TITLES.get(placed.line.type or "")
        if field and texts:
            setattr(self, field, texts[0].words[:LONGEST])
        elif field == "tag":  # taken away
            self.tag = None
        elif placed.line.type == "system" and b'"compact_boundary"' in placed.raw:
            self.compactions += placed.body.get("subtype") == "compact_boundary"
