"""What spans say: the texts of a turn, redacted and cut, each of them once.

One redactor reads the texts of a turn, or of a sub-agent, in the order of the file and learns the secrets on its way.
So the marks that stand for them depend on nothing but what came before, however often and in whatever order spans are
made. A text that several spans show is redacted once.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from turnlog.redact.redactor import Redactor
from turnlog.redact.rules import Rules
from turnlog.redact.walk import DEPTH
from turnlog.session.session import Session
from turnlog.trace.spans.parts import Part, Said, json_of, said
from turnlog.trace.spans.span import Value
from turnlog.trace.spans.spans import Trace
from turnlog.trace.spans.stretches import Work

Content = Literal["full", "redacted", "none"]
MARGIN = 16_384
"""How much more than is sent of a long text is redacted, and thrown away: no secret may survive by being cut in two."""


class Policy(NamedTuple):
    """How much a target is told."""

    content: Content = "redacted"
    limit: int = 20_000
    """Characters of one value; what is longer is cut."""


class About(NamedTuple):
    """Where a turn was worked on."""

    cwd: str | None
    git_branch: str | None
    slug: str | None
    version: str | None


class Contents:
    """The texts of a session as one target is to have them."""

    def __init__(self, session: Session, policy: Policy = Policy()) -> None:  # noqa: B008 - a value
        self.session = session
        self.policy = policy
        self.shared: dict[tuple[bytes, str | None], dict[str, Value]] = {}
        """What all spans of a trace have in common, once it was put together."""
        self._texts: dict[int, tuple[Work, Texts]] = {}

    @property
    def silent(self) -> bool:
        """Whether no text at all is to be told."""
        return self.policy.content == "none"

    def texts(self, work: Work) -> Texts:
        """The texts of a turn, or of a sub-agent's work."""
        if id(work) not in self._texts:
            self._texts[id(work)] = work, Texts(work, self.policy)
        return self._texts[id(work)][1]

    def about(self, trace: Trace) -> About:
        """Where the work of a trace was done; what its first entry does not say, its first answer does."""
        work = trace.work
        entries = [work.start, *filter(None, [work.first_answer])]
        slugs = [work.session.body(entry).get("slug") for entry in entries]
        # A redactor of its own, or the marks in a turn's texts would begin with those in its folder's name.
        cutter = _cutter(self.policy._replace(content="redacted"))
        return About(
            None if self.silent else _first(cutter, [entry.cwd for entry in entries]),
            _first(cutter, [entry.git_branch for entry in entries]),
            _first(cutter, slugs),
            _first(cutter, [entry.version for entry in entries]),
        )


class Texts:
    """The texts of one turn, or of one sub-agent."""

    def __init__(self, work: Work, policy: Policy) -> None:
        self._work = work
        self._cutter = _cutter(policy)
        self._said: dict[int, Said] = {}
        self._parts: dict[int, dict[tuple[str, str], Part]] = {}
        self._next = 0

    def said(self, index: int) -> Said:
        """What the entry at a place of the file says."""
        entries = self._work.entries
        while index not in self._said and self._next < len(entries):
            entry = entries[self._next]
            prompt = self._work.prompt if entry is self._work.start else None
            raw = said(self._work.session.body(entry), prompt)
            self._said[entry.index] = Said([self._clean(part) for part in raw.parts], raw.outcomes, raw.error)
            self._next += 1
        return self._said.get(index) or Said([], {}, None)

    def part(self, index: int, kind: str, call: str) -> Part | None:
        """What the entry at a place says of a call; one entry may ask for thousands, or answer them."""
        if index not in self._parts:
            parts = self.said(index).parts
            self._parts[index] = {(part.kind, part.id): part for part in reversed(parts)}
        return self._parts[index].get((kind, call))

    def _clean(self, part: Part) -> Part:
        if part.kind == "tool_call":
            return part._replace(value=self._cutter.value(part.value))
        return part._replace(text=self._cutter.text(part.text))


class Cutter:
    """Redacts texts and values as far as they are sent, and cuts the rest."""

    def __init__(self, limit: int, redactor: Redactor | None) -> None:
        self._limit = limit
        self._redactor = redactor

    def text(self, text: str) -> str:
        """A text as it is sent."""
        limit = self._limit
        kept = text[: limit + MARGIN]
        if self._redactor is not None:
            kept = self._redactor.text(kept)
        if len(text) > limit + MARGIN:
            return self._cut(kept[:-MARGIN], text)
        return kept if len(kept) <= limit else self._cut(kept, text)

    def value(self, value: Any) -> Any:
        """A JSON value as it is sent: a text if it is too long."""
        encoded = json_of(value)
        if self._redactor is None:
            return value if len(encoded) <= self._limit else self._cut(encoded, encoded)
        if len(encoded) > self._limit + MARGIN:
            # Not as the text that it becomes: keys, and words before others, tell what is a secret.
            room = _Room(self._limit + MARGIN)
            kept = json_of(self._redactor.value(room.clipped(value)))
            return self._cut(kept if room.left else kept[:-MARGIN], encoded)
        redacted = self._redactor.value(value)
        if redacted != value:
            value, encoded = redacted, json_of(redacted)
        return value if len(encoded) <= self._limit else self._cut(encoded, encoded)

    def _cut(self, kept: str, whole: str) -> str:
        digest = sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{kept[: self._limit]} … [cut: {len(whole)} characters, sha256 {digest}]"


class _Room:
    """The beginning of a JSON value, as far as there is room for its characters."""

    def __init__(self, size: int) -> None:
        self.left = size

    def clipped(self, value: Any, depth: int = 0) -> Any:
        """A value without what there is no more room for."""
        if isinstance(value, str):
            value = value[: self.left]
            self.left -= len(value)
        elif isinstance(value, dict):
            items = value.items() if depth <= DEPTH else ()
            return {self.clipped(key): self.clipped(item, depth + 1) for key, item in items if self._takes()}
        elif isinstance(value, list):
            return [self.clipped(item, depth + 1) for item in (value if depth <= DEPTH else ()) if self._takes()]
        return value

    def _takes(self) -> bool:
        self.left = max(self.left - 1, 0)
        return self.left > 0


class _Silence(Cutter):
    """Leaves nothing."""

    def __init__(self) -> None:
        super().__init__(0, None)

    def text(self, text: str) -> str:
        return ""

    def value(self, value: Any) -> Any:
        return None


def _first(cutter: Cutter, values: list[Any]) -> str | None:
    return next((cutter.text(value) for value in values if isinstance(value, str) and value), None)


def _cutter(policy: Policy) -> Cutter:
    if policy.content == "none":
        return _Silence()
    return Cutter(policy.limit, Redactor(_rules()) if policy.content == "redacted" else None)


@cache
def _rules() -> Rules:
    return Rules()
