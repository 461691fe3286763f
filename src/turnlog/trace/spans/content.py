"""The text in spans: redacted, shortened, and without repetition.

One redactor reads the text of a turn or sub-agent in file order and learns the secrets as it reads. Its placeholders
therefore depend only on earlier text, no matter how often and in which order spans are built. Text that appears in
several spans is redacted once.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from turnlog.redact.json_walk import MAX_JSON_DEPTH
from turnlog.redact.redactor import Redactor
from turnlog.redact.rules import SecretRules
from turnlog.session.session import Session
from turnlog.trace.spans.parts import EntryParts, SpanPart, read_entry_parts, to_json_text
from turnlog.trace.spans.span import AttributeValue
from turnlog.trace.spans.span_trees import Trace
from turnlog.trace.spans.stretches import ActorWork

ContentLevel = Literal["full", "redacted", "none"]
REDACTION_MARGIN_CHARS = 16_384
"""How many more characters of long text are redacted than sent, so that no secret survives by being cut in two."""


class ContentPolicy(NamedTuple):
    """How much content a target receives."""

    content: ContentLevel = "redacted"
    limit: int = 20_000
    """The maximum number of characters to send per value; longer values are truncated."""


class TraceContext(NamedTuple):
    """Where a turn took place."""

    cwd: str | None
    git_branch: str | None
    slug: str | None
    version: str | None


class SpanContents:
    """The text of a session as one target receives it."""

    def __init__(self, session: Session, policy: ContentPolicy = ContentPolicy()) -> None:
        self.session = session
        self.policy = policy
        self.shared: dict[tuple[bytes, str | None], dict[str, AttributeValue]] = {}
        """The attributes that all spans of a trace share, once they are built."""
        self._texts: dict[int, tuple[ActorWork, WorkTexts]] = {}

    @property
    def is_silent(self) -> bool:
        """Whether no text is sent at all."""
        return self.policy.content == "none"

    def get_texts(self, work: ActorWork) -> WorkTexts:
        """Return the text of a turn or of a sub-agent's work."""
        if id(work) not in self._texts:
            self._texts[id(work)] = work, WorkTexts(work, self.policy)
        return self._texts[id(work)][1]

    def read_context(self, trace: Trace) -> TraceContext:
        """Return where the work in a trace took place, according to its first entry or else its first answer."""
        work = trace.work
        entries = [work.start, *filter(None, [work.first_answer])]
        slugs = [work.session.read_body(entry).get("slug") for entry in entries]
        # A separate redactor, because otherwise the folder's name would use up the first placeholders of the turn's
        # texts.
        cutter = _build_cutter(self.policy._replace(content="redacted"))
        return TraceContext(
            None if self.is_silent else _cut_first_text(cutter, [entry.cwd for entry in entries]),
            _cut_first_text(cutter, [entry.git_branch for entry in entries]),
            _cut_first_text(cutter, slugs),
            _cut_first_text(cutter, [entry.version for entry in entries]),
        )


class WorkTexts:
    """The text of one turn or sub-agent."""

    def __init__(self, work: ActorWork, policy: ContentPolicy) -> None:
        self._work = work
        self._cutter = _build_cutter(policy)
        self._entry_parts: dict[int, EntryParts] = {}
        self._parts: dict[int, dict[tuple[str, str], SpanPart]] = {}
        self._next = 0

    def read_parts(self, index: int) -> EntryParts:
        """Return the parts of the entry at an index of the file."""
        entries = self._work.entries
        while index not in self._entry_parts and self._next < len(entries):
            entry = entries[self._next]
            prompt = self._work.prompt if entry is self._work.start else None
            raw = read_entry_parts(self._work.session.read_body(entry), prompt)
            self._entry_parts[entry.index] = EntryParts(
                [self._clean_part(part) for part in raw.parts], raw.outcomes, raw.error
            )
            self._next += 1
        return self._entry_parts.get(index) or EntryParts([], {}, None)

    def find_part(self, index: int, kind: str, call: str) -> SpanPart | None:
        """Return the part of an entry that belongs to a call; an entry may contain thousands of calls or results."""
        if index not in self._parts:
            parts = self.read_parts(index).parts
            self._parts[index] = {(part.kind, part.id): part for part in reversed(parts)}
        return self._parts[index].get((kind, call))

    def _clean_part(self, part: SpanPart) -> SpanPart:
        if part.kind == "tool_call":
            return part._replace(value=self._cutter.cut_value(part.value))
        return part._replace(text=self._cutter.cut_text(part.text))


class TextCutter:
    """Redacts the part of text and values that is sent, and cuts off the rest."""

    def __init__(self, limit: int, redactor: Redactor | None) -> None:
        self._limit = limit
        self._redactor = redactor

    def cut_text(self, text: str) -> str:
        """Return text as it is sent."""
        limit = self._limit
        start = text[: limit + REDACTION_MARGIN_CHARS]
        if self._redactor is not None:
            start = self._redactor.redact_text(start)
        if len(text) > limit + REDACTION_MARGIN_CHARS:
            return self._mark_cut(start[:-REDACTION_MARGIN_CHARS], text)
        return start if len(start) <= limit else self._mark_cut(start, text)

    def cut_value(self, value: Any) -> Any:
        """Return a JSON value as it is sent, or a string if the value is too long."""
        encoded = to_json_text(value)
        if self._redactor is None:
            return value if len(encoded) <= self._limit else self._mark_cut(encoded, encoded)
        if len(encoded) > self._limit + REDACTION_MARGIN_CHARS:
            # Not as JSON text, because keys, and words before other words, reveal what is a secret.
            room = _CharBudget(self._limit + REDACTION_MARGIN_CHARS)
            start = to_json_text(self._redactor.redact_value(room.clip_value(value)))
            return self._mark_cut(start if room.left else start[:-REDACTION_MARGIN_CHARS], encoded)
        redacted = self._redactor.redact_value(value)
        if redacted != value:
            value, encoded = redacted, to_json_text(redacted)
        return value if len(encoded) <= self._limit else self._mark_cut(encoded, encoded)

    def _mark_cut(self, start: str, whole: str) -> str:
        digest = sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{start[: self._limit]} … [cut: {len(whole)} characters, sha256 {digest}]"


class _CharBudget:
    """The part of a JSON value that fits within a number of characters."""

    def __init__(self, size: int) -> None:
        self.left = size

    def clip_value(self, value: Any, depth: int = 0) -> Any:
        """Return the part of a value that still fits."""
        if isinstance(value, str):
            value = value[: self.left]
            self.left -= len(value)
        elif isinstance(value, dict):
            items = value.items() if depth <= MAX_JSON_DEPTH else ()
            return {self.clip_value(key): self.clip_value(item, depth + 1) for key, item in items if self._take_char()}
        elif isinstance(value, list):
            return [
                self.clip_value(item, depth + 1)
                for item in (value if depth <= MAX_JSON_DEPTH else ())
                if self._take_char()
            ]
        return value

    def _take_char(self) -> bool:
        self.left = max(self.left - 1, 0)
        return self.left > 0


class _SilentCutter(TextCutter):
    """Removes everything."""

    def __init__(self) -> None:
        super().__init__(0, None)

    def cut_text(self, text: str) -> str:
        return ""

    def cut_value(self, value: Any) -> Any:
        return None


def _cut_first_text(cutter: TextCutter, values: list[Any]) -> str | None:
    return next((cutter.cut_text(value) for value in values if isinstance(value, str) and value), None)


def _build_cutter(policy: ContentPolicy) -> TextCutter:
    if policy.content == "none":
        return _SilentCutter()
    return TextCutter(policy.limit, Redactor(_load_rules()) if policy.content == "redacted" else None)


@cache
def _load_rules() -> SecretRules:
    return SecretRules()
