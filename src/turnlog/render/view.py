"""What a session shows, without any markup: one view for each item in its timeline.

Views are built from entries once (`render.view_builder`) and written in several formats (`render.html`,
`render.markdown`, `render.text`). Their text comes from the transcript and is hostile until a writer has escaped it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from turnlog.render.card import Card, Picture


class AnswerText(Struct, frozen=True, tag_field="block", tag="text"):
    """Text in an answer, in Markdown."""

    text: str


class AnswerThinking(Struct, frozen=True, tag_field="block", tag="thinking"):
    """Thinking; many versions of Claude Code don't record its text."""

    text: str
    """Empty if it was not recorded."""


class AnswerPicture(Struct, frozen=True, tag_field="block", tag="picture"):
    """A picture or document inside an answer."""

    picture: Picture


class AnswerCall(Struct, frozen=True, tag_field="block", tag="call"):
    """A tool call with its result."""

    card: Card


class AnswerOther(Struct, frozen=True, tag_field="block", tag="other"):
    """A block of an unknown kind."""

    kind: str
    value: Any


AnswerBlock: TypeAlias = AnswerText | AnswerThinking | AnswerPicture | AnswerCall | AnswerOther


class AnswerTokens(Struct, frozen=True):
    """The tokens and cost of an answer."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost_usd: float | None = None
    """None if the model has no known price."""
    quality: str = "missing"
    """final, partial, placeholder or missing: how reliable the output count is."""


class BaseView(Struct, frozen=True):
    """The fields of every view."""

    key: str
    """Identifies the item in its session and in URLs: the uuid of its first line, or `@` and the line's offset."""
    turn: int
    """The number of its turn; 0 if it has none."""
    time: str | None
    offset: int
    """The offset of its first line in the file, for links to the raw entry."""


class PromptView(BaseView, frozen=True, tag_field="view", tag="prompt"):
    """What a person typed, or whatever else started a turn or was added to it."""

    kind: str
    """One of session.turns.TURN_KINDS, or `typed` for text that was typed while a turn was running."""
    text: str
    context: tuple[tuple[str, str], ...] = ()
    """What an editor or hook added, as (tag, text) pairs."""
    pictures: tuple[Picture, ...] = ()
    speaker: str = "person"
    """Its speaker: one of entries.speakers.SPEAKERS."""
    sender: str | None = None
    """The name of a peer, a teammate or a channel."""


class AnswerView(BaseView, frozen=True, tag_field="view", tag="answer"):
    """One message from the model."""

    blocks: tuple[AnswerBlock, ...]
    model: str | None = None
    tokens: AnswerTokens | None = None
    stop_reason: str | None = None
    is_error: bool = False
    """Whether it is an API error that Claude Code recorded as an answer."""
    is_synthetic: bool = False
    """Whether Claude Code wrote it without a model."""
    lost_tokens: int | None = None
    """The output tokens that were billed, if the client lost the answer's text."""


class EventView(BaseView, frozen=True, tag_field="view", tag="event"):
    """Any other event: an interruption, an API error, a hook, the output of a command or a notification."""

    kind: str
    """One of render.events.EVENT_KINDS."""
    text: str
    """Plain text; the first line describes what happened."""
    tone: str = "plain"
    """plain, note, warning or error."""
    detail: str = ""
    """Folded details, such as the output of a command or the message of a hook."""
    is_terminal: bool = False
    """Whether text and detail are terminal output with ANSI escapes."""


class CompactionView(BaseView, frozen=True, tag_field="view", tag="compaction"):
    """A point at which a summary replaced older messages."""

    trigger: str | None
    before: int | None
    """The number of tokens before the compaction."""
    after: int | None
    entries: int
    """How many entries the summary replaces."""
    preserved: int
    """How many messages were kept verbatim."""
    summary: str
    """Markdown; empty if there is none."""


class MetaRow(Struct, frozen=True):
    """One entry that readers rarely need."""

    offset: int
    name: str
    """Its type, with its subtype: `attachment/todo_reminder`."""
    time: str | None
    gist: str
    """A description on one line."""
    uuid: str | None = None


class MetaView(BaseView, frozen=True, tag_field="view", tag="meta"):
    """Claude Code's own bookkeeping, shown on request."""

    rows: tuple[MetaRow, ...]


TASK_SPEAKER = "task"
"""The speaker of a sub-agent's first prompt, which another agent wrote."""


AnyView: TypeAlias = PromptView | AnswerView | EventView | CompactionView | MetaView


def to_agent_view(view: AnyView, prefix: str) -> AnyView:
    """Return a view of a sub-agent's item: its key is unique on a page, and its prompt is a task, not a person's."""
    if isinstance(view, PromptView) and view.kind == "prompt" and view.speaker in ("person", "peer"):
        return replace(view, key=prefix + view.key, speaker=TASK_SPEAKER)
    return replace(view, key=prefix + view.key)
