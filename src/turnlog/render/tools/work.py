"""A call to be shown: what a card is made from, and what the tools make of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from turnlog.render.card import Picture, Plain, Section, Tree
from turnlog.render.values import Json, fields, inside, line, parsed, text
from turnlog.session.calls import Detail
from turnlog.session.failures import plain
from turnlog.session.timeline.timeline import Helper

Sections: TypeAlias = Sequence[Section]
_TAGS = re.compile(r"</?(?:tool_use_error|error)>")
_USER_SAID = "the user said:"
_ADDED = "\n\nNote: The user's next message may contain"
_REJECTED = ("The user doesn't want to", "User rejected")
_INTERRUPTED = re.compile(r"\[Request interrupted by user(?: for tool use)?\]")


@dataclass
class Earlier:
    """What earlier calls have told, as far as it helps to tell of later ones."""

    todos: list[Json] | None = None
    """The list of the last TodoWrite; None: there was none."""
    tasks: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Subject and state of tasks by their id."""


@dataclass(frozen=True)
class Work:
    """A call with its result."""

    name: str
    detail: Detail
    cwd: str | None = None
    pictures: tuple[Picture, ...] = ()
    """Those of the result."""
    helper: Helper | None = None
    """The sub-agent that the call started, as the session's head knows it."""
    earlier: Earlier = field(default_factory=Earlier)
    request_figures: tuple[str, ...] = ()
    """Model, tokens and cost of the request that the API made for the call."""

    @property
    def given(self) -> Json:
        """What the tool was given."""
        return fields(self.detail.input)

    @property
    def record(self) -> Json:
        """The client's own record of the result."""
        return fields(self.detail.structured)

    @property
    def outcome(self) -> str:
        """See `session.calls.Detail`."""
        return self.detail.outcome

    @cached_property
    def words(self) -> str:
        """The result as a text, without the client's tags."""
        return _TAGS.sub("", plain(self.detail.result)).strip("\r\n")

    def path(self, *names: str) -> str:
        """The first of some fields that names a file."""
        return text(*(self.given.get(name) for name in names))

    def titled(self, words: str) -> str:
        """A path or other text for the head of a card."""
        return line(inside(words, self.cwd))


@dataclass(frozen=True)
class Parts:
    """What a tool contributes to its card."""

    title: str
    asked: Sections = ()
    answered: Sections = ()
    badges: Sequence[str] = ()
    agent_id: str | None = None


def settled(work: Work, shown: Callable[[Work], Sections]) -> Sections:
    """What came of a call: what the tool shows of its result, or why there is none."""
    if work.outcome == "unanswered":
        return ()
    return failure(work) if work.outcome in ("error", "denied", "interrupted") else shown(work)


def failure(work: Work) -> Sections:
    """Why a call came to nothing, in the words of the client, a hook or the person."""
    if work.outcome == "denied":
        said = objection(work.words)
        return (Plain(said or "The person did not allow it.", "Denied", "warning"),)
    if work.outcome == "interrupted":
        rest = _INTERRUPTED.sub("", work.words).strip()
        return (Plain(rest or "The person stopped it.", "Interrupted", "warning"),)
    found = parsed(work.words)
    if found is not None:
        return (Tree(found, "Error"),)
    return (Plain(work.words or "It failed without a word.", "", "error"),)


def objection(words: str) -> str:
    """What a person, a rule or a hook had against a call, without the client's own sentences around it."""
    if (at := words.find(_USER_SAID)) >= 0:
        return words[at + len(_USER_SAID) :].partition(_ADDED)[0].strip()
    return "" if words.startswith(_REJECTED) else words


def uninterrupted(words: str) -> str:
    """A text without the mark of an interruption."""
    return _INTERRUPTED.sub("", words).strip("\n")
