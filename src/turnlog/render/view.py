"""What there is to show of a session, without any markup: one view for each item of its timeline.

Views are made from entries once (`render.viewing`) and written in several forms (`render.html`, `render.markdown`,
`render.text`). Their texts are as the transcript has them: hostile until a writer has escaped them.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

from turnlog.render.card import Card, Picture


class AnswerText(Struct, frozen=True, tag_field="block", tag="text"):
    """A text of an answer, in Markdown."""

    text: str


class AnswerThinking(Struct, frozen=True, tag_field="block", tag="thinking"):
    """Thinking; many clients record only that there was some."""

    text: str
    """Empty where it was not recorded."""


class AnswerPicture(Struct, frozen=True, tag_field="block", tag="picture"):
    """A picture or document that stands in an answer."""

    picture: Picture


class AnswerCall(Struct, frozen=True, tag_field="block", tag="call"):
    """A tool call with its result."""

    card: Card


class AnswerOther(Struct, frozen=True, tag_field="block", tag="other"):
    """A block of a kind that nobody knows."""

    kind: str
    value: Any


AnswerBlock: TypeAlias = AnswerText | AnswerThinking | AnswerPicture | AnswerCall | AnswerOther


class AnswerTokens(Struct, frozen=True):
    """What an answer used."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost_usd: float | None = None
    """None where the model has no known price."""
    quality: str = "missing"
    """final, partial, placeholder, missing: how far the output can be trusted."""


class BaseView(Struct, frozen=True):
    """What every view has."""

    key: str
    """Names the item in its session, also in addresses: the uuid of its first line, else `@` and the line's offset."""
    turn: int
    """The number of the turn that it belongs to; 0: of none."""
    time: str | None
    offset: int
    """Where its first line begins in the file: leads to the raw entry."""


class PromptView(BaseView, frozen=True, tag_field="view", tag="prompt"):
    """What a person typed, or what else set off or joined a turn."""

    kind: str
    """One of session.turns.TURN_KINDS, or typed: while a turn was at work."""
    text: str
    context: tuple[tuple[str, str], ...] = ()
    """What an editor or hook added: (tag, text)."""
    pictures: tuple[Picture, ...] = ()
    speaker: str = "person"
    """Who said it: one of entries.speakers.SPEAKERS."""
    sender: str | None = None
    """What a peer, a teammate or a channel is called."""


class AnswerView(BaseView, frozen=True, tag_field="view", tag="answer"):
    """One message of the model."""

    blocks: tuple[AnswerBlock, ...]
    model: str | None = None
    tokens: AnswerTokens | None = None
    stop_reason: str | None = None
    is_error: bool = False
    """An API error that the client wrote down as an answer."""
    is_synthetic: bool = False
    """The client made it up."""


class EventView(BaseView, frozen=True, tag_field="view", tag="event"):
    """Something else that happened: an interruption, an API error, a hook, the output of a command, a notification."""

    kind: str
    """One of render.events.KINDS."""
    text: str
    """In plain words; the first line is enough to know what happened."""
    tone: str = "plain"
    """plain, note, warning, error."""
    detail: str = ""
    """More, folded away: the output of a command, the words of a hook."""
    is_terminal: bool = False
    """Whether text and detail are what a terminal would get, with ANSI escapes."""


class CompactionView(BaseView, frozen=True, tag_field="view", tag="compaction"):
    """Older messages were replaced by a summary."""

    trigger: str | None
    before: int | None
    """Tokens."""
    after: int | None
    entries: int
    """How many entries the summary stands for."""
    preserved: int
    """How many messages were kept word for word."""
    summary: str
    """In Markdown; empty where there is none."""


class MetaRow(Struct, frozen=True):
    """One entry that says nothing to a reader."""

    offset: int
    name: str
    """Its type, with its subtype: `attachment/todo_reminder`."""
    time: str | None
    gist: str
    """What it is about, on one line."""
    uuid: str | None = None


class MetaView(BaseView, frozen=True, tag_field="view", tag="meta"):
    """Entries of the client's own book-keeping, shown on request."""

    rows: tuple[MetaRow, ...]


AnyView: TypeAlias = PromptView | AnswerView | EventView | CompactionView | MetaView
