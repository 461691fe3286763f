"""A call to be shown: what a card is made from, and what the tools make of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from turnlog.render.card import Picture, PlainSection, Section, TreeSection
from turnlog.render.values import Json, parse_json_value, pick_text, to_dict
from turnlog.session.calls import CallDetail
from turnlog.session.failures import to_result_text
from turnlog.session.timeline.timeline import TimelineAgent

SectionList: TypeAlias = Sequence[Section]
_ERROR_TAGS = re.compile(r"</?(?:tool_use_error|error)>")
_USER_SAID = "the user said:"
_CLIENT_NOTE = "\n\nNote: The user's next message may contain"
_REJECTION_STARTS = ("The user doesn't want to", "User rejected")
_INTERRUPTION_MARK = re.compile(r"\[Request interrupted by user(?: for tool use)?\]")


@dataclass
class EarlierCalls:
    """What earlier calls have told, as far as it helps to tell of later ones."""

    todos: list[Json] | None = None
    """The list of the last TodoWrite; None: there was none."""
    tasks: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Subject and state of tasks by their id."""


@dataclass(frozen=True)
class CardSource:
    """A call with its result."""

    name: str
    detail: CallDetail
    cwd: str | None = None
    pictures: tuple[Picture, ...] = ()
    """Those of the result."""
    helper: TimelineAgent | None = None
    """The sub-agent that the call started, as the session's head knows it."""
    earlier: EarlierCalls = field(default_factory=EarlierCalls)
    request_figures: tuple[str, ...] = ()
    """Model, tokens and cost of the request that the API made for the call."""

    @property
    def input_fields(self) -> Json:
        """What the tool was given."""
        return to_dict(self.detail.input)

    @property
    def record(self) -> Json:
        """The client's own record of the result."""
        return to_dict(self.detail.structured)

    @property
    def outcome(self) -> str:
        """See `session.calls.Detail`."""
        return self.detail.outcome

    @cached_property
    def words(self) -> str:
        """The result as a text, without the client's tags."""
        return _ERROR_TAGS.sub("", to_result_text(self.detail.result)).strip("\r\n")

    def find_path(self, *names: str) -> str:
        """The first of some fields that names a file."""
        return pick_text(*(self.input_fields.get(name) for name in names))


@dataclass(frozen=True)
class CardParts:
    """What a tool contributes to its card; the title comes from `call_titles`."""

    asked: SectionList = ()
    answered: SectionList = ()
    badges: Sequence[str] = ()
    agent_id: str | None = None
    title: str | None = None
    """Only a card of another package has a title of its own; None: that of `call_titles`."""


def show_outcome(work: CardSource, shown: Callable[[CardSource], SectionList]) -> SectionList:
    """What came of a call: what the tool shows of its result, or why there is none."""
    if work.outcome == "unanswered":
        return ()
    return show_failure(work) if work.outcome in ("error", "denied", "interrupted") else shown(work)


def show_failure(work: CardSource) -> SectionList:
    """Why a call came to nothing, in the words of the client, a hook or the person."""
    if work.outcome == "denied":
        said = read_objection(work.words)
        return (PlainSection(said or "The person did not allow it.", "Denied", "warning"),)
    if work.outcome == "interrupted":
        rest = _INTERRUPTION_MARK.sub("", work.words).strip()
        return (PlainSection(rest or "The person stopped it.", "Interrupted", "warning"),)
    found = parse_json_value(work.words)
    if found is not None:
        return (TreeSection(found, "Error"),)
    return (PlainSection(work.words or "It failed without a word.", "", "error"),)


def read_objection(words: str) -> str:
    """What a person, a rule or a hook had against a call, without the client's own sentences around it."""
    if (at := words.find(_USER_SAID)) >= 0:
        return words[at + len(_USER_SAID) :].partition(_CLIENT_NOTE)[0].strip()
    return "" if words.startswith(_REJECTION_STARTS) else words


def remove_interruption(words: str) -> str:
    """A text without the mark of an interruption."""
    return _INTERRUPTION_MARK.sub("", words).strip("\n")
