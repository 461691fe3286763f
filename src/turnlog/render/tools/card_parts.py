"""The input and output of card builders: a call with its result, and the parts of a card."""

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
    """Information from earlier calls that helps to show later ones."""

    todos: list[Json] | None = None
    """The list from the latest TodoWrite call; None before the first."""
    tasks: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The subject and state of tasks, by task id."""


@dataclass(frozen=True)
class CardSource:
    name: str
    detail: CallDetail
    cwd: str | None = None
    pictures: tuple[Picture, ...] = ()
    """The pictures of the result."""
    helper: TimelineAgent | None = None
    """The sub-agent that the call started, according to the session's timeline."""
    earlier: EarlierCalls = field(default_factory=EarlierCalls)
    request_figures: tuple[str, ...] = ()
    """Model, tokens and cost of the request that the API made for the call."""

    @property
    def input_fields(self) -> Json:
        """The input of the tool; empty if it is not an object."""
        return to_dict(self.detail.input)

    @property
    def record(self) -> Json:
        """Claude Code's own record of the result."""
        return to_dict(self.detail.structured)

    @property
    def outcome(self) -> str:
        """How the call ended (see `session.calls.CallDetail`)."""
        return self.detail.outcome

    @cached_property
    def words(self) -> str:
        """The text of the result, without Claude Code's tags."""
        return _ERROR_TAGS.sub("", to_result_text(self.detail.result)).strip("\r\n")

    def find_path(self, *names: str) -> str:
        """Return the first of the given input fields that names a file."""
        return pick_text(*(self.input_fields.get(name) for name in names))


@dataclass(frozen=True)
class CardParts:
    """A tool's contribution to its card; the title comes from `call_titles`."""

    asked: SectionList = ()
    answered: SectionList = ()
    badges: Sequence[str] = ()
    agent_id: str | None = None
    title: str | None = None
    """The title of a card from another package; None to use the title from `call_titles`."""


def show_outcome(work: CardSource, show: Callable[[CardSource], SectionList]) -> SectionList:
    """Show the result of a call with the tool's own function, or explain why there is none."""
    if work.outcome == "unanswered":
        return ()
    return show_failure(work) if work.outcome in ("error", "denied", "interrupted") else show(work)


def show_failure(work: CardSource) -> SectionList:
    """Show why a call failed, as stated by Claude Code, a hook or the user."""
    if work.outcome == "denied":
        objection = read_objection(work.words)
        return (PlainSection(objection or "The user denied it.", "Denied", "warning"),)
    if work.outcome == "interrupted":
        rest = _INTERRUPTION_MARK.sub("", work.words).strip()
        return (PlainSection(rest or "The user stopped it.", "Interrupted", "warning"),)
    value = parse_json_value(work.words)
    if value is not None:
        return (TreeSection(value, "Error"),)
    return (PlainSection(work.words or "It failed without a message.", "", "error"),)


def read_objection(text: str) -> str:
    """Return why a user, rule or hook denied a call, without the sentences that Claude Code puts around the reason."""
    if (at := text.find(_USER_SAID)) >= 0:
        return text[at + len(_USER_SAID) :].partition(_CLIENT_NOTE)[0].strip()
    return "" if text.startswith(_REJECTION_STARTS) else text


def remove_interruption(text: str) -> str:
    return _INTERRUPTION_MARK.sub("", text).strip("\n")
