"""A tool call as a card: a one-line head, and sections that every writer supports.

The tools differ (`render.tools`), but their cards consist of a few kinds of sections, so each format (HTML, Markdown,
text) is implemented once, not once per tool.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

from turnlog.session.files.patches import Hunk


class Picture(Struct, frozen=True, tag_field="section", tag="picture"):
    kind: str
    """image or document."""
    media_type: str
    data: str
    """Base64 as in the transcript; empty if only a name or a URL is known."""
    name: str = ""
    """Its file, title or URL."""
    offset: int = 0
    """The offset of the entry that contains it."""
    place: int = 0
    """Its index among the pictures of that entry."""


class CodeSection(Struct, frozen=True, tag_field="section", tag="code"):
    """Source code, or any text whose layout matters."""

    text: str
    language: str = ""
    """The name of a language in Pygments, or a file name that suggests one; empty for none."""
    title: str = ""
    first_line: int | None = None
    """The number of its first line, if lines are numbered."""


class TerminalSection(Struct, frozen=True, tag_field="section", tag="terminal"):
    """Program output with ANSI escapes."""

    text: str
    stream: str = "output"
    """output or error."""


class DiffSection(Struct, frozen=True, tag_field="section", tag="diff"):
    """A change to a file."""

    path: str
    hunks: tuple[Hunk, ...]
    created: bool = False
    note: str = ""
    """A note about any uncertainty."""


class TextSection(Struct, frozen=True, tag_field="section", tag="text"):
    """Markdown, such as a plan, a prompt for a sub-agent, or its report."""

    text: str
    title: str = ""


class PlainSection(Struct, frozen=True, tag_field="section", tag="plain"):
    """Text that is not Markdown, such as an error or a short result."""

    text: str
    title: str = ""
    tone: str = "plain"
    """plain, note, warning or error."""


class FieldsSection(Struct, frozen=True, tag_field="section", tag="fields"):
    """Names and values."""

    rows: tuple[tuple[str, str], ...]


class TreeSection(Struct, frozen=True, tag_field="section", tag="tree"):
    """Any JSON value, shown folded and indented."""

    value: Any
    title: str = ""


class HitsSection(Struct, frozen=True, tag_field="section", tag="hits"):
    """The results of a search."""

    rows: tuple[tuple[str, str, str], ...]
    """(file, line number or empty, text)."""
    total: int
    """The number of results; greater than the number of rows if the tool truncated the list."""


class LinkSection(Struct, frozen=True, tag_field="section", tag="link"):
    """A URL; only http and https may become links."""

    url: str
    title: str = ""
    text: str = ""


class ChecklistTask(Struct, frozen=True):
    """One line of a checklist."""

    text: str
    state: str
    """pending, in_progress, completed, deleted, or another value that the tool uses."""
    change: str = ""
    """new, changed or gone; empty if unchanged."""


class ChecklistSection(Struct, frozen=True, tag_field="section", tag="checklist"):
    """The current list of tasks, and what changed."""

    tasks: tuple[ChecklistTask, ...]


class QuestionChoice(Struct, frozen=True):
    """A question with its options and answers."""

    question: str
    options: tuple[tuple[str, str], ...]
    """(label, description)."""
    answers: tuple[str, ...]
    """Labels of options, or the person's own words."""


class QuestionsSection(Struct, frozen=True, tag_field="section", tag="questions"):
    """Questions for the user."""

    choices: tuple[QuestionChoice, ...]
    has_result: bool = True
    """Whether the call has ended; until then, nobody knows whether there will be answers."""


class AgentSection(Struct, frozen=True, tag_field="section", tag="agent"):
    """A sub-agent whose transcript can be opened below the card."""

    agent_id: str
    type: str = ""
    description: str = ""
    calls: int | None = None
    tokens: int | None = None
    duration_ms: int | None = None


Section: TypeAlias = (
    CodeSection
    | TerminalSection
    | DiffSection
    | TextSection
    | PlainSection
    | FieldsSection
    | TreeSection
    | HitsSection
    | LinkSection
    | ChecklistSection
    | QuestionsSection
    | AgentSection
    | Picture
)


class Card(Struct, frozen=True):
    """A tool call with everything that a writer shows."""

    id: str
    tool: str
    """The tool's name as in the transcript."""
    family: str
    """One of session.calls.TOOL_FAMILIES, mcp or other."""
    title: str
    """The command, path or query, on one line."""
    outcome: str
    """answered, error, denied, interrupted, launched or unanswered (session.calls.CallDetail)."""
    asked: tuple[Section, ...] = ()
    answered: tuple[Section, ...] = ()
    badges: tuple[str, ...] = ()
    """Short facts for the head: `exit 1`, `+12 −3`, `24 hits`, `in background`."""
    duration_ms: int | None = None
    """The time from the call's line to its result."""
    offset: int = 0
    """The offset of the entry with the call; `result_offset` is that of the entry with its result."""
    result_offset: int | None = None
    agent_id: str | None = None
    result_chars: int = 0
    """The length of the result's text, which tells roughly how much of the context it takes."""
