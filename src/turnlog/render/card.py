"""A tool call as a card: a head of one line, and sections that any writer knows how to write.

The tools differ (`render.tools`); what they show is made of few kinds of sections, so that a form (HTML, Markdown,
text) is written once and not once for each tool.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

from turnlog.session.files.patches import Hunk


class Picture(Struct, frozen=True, tag_field="section", tag="picture"):
    """An image or a document."""

    kind: str
    """image or document."""
    media_type: str
    data: str
    """Base64 as in the transcript; empty where only a name or an address is known."""
    name: str = ""
    """The file, the title or the address that it goes by."""
    offset: int = 0
    """Where the entry that holds it begins in the file."""
    place: int = 0
    """Which picture of that entry it is, from 0."""


class CodeSection(Struct, frozen=True, tag_field="section", tag="code"):
    """A text of a programming language, or any text whose form matters."""

    text: str
    language: str = ""
    """A name that Pygments knows, or a file name to guess from; empty: none."""
    title: str = ""
    first_line: int | None = None
    """The number of its first line where lines are numbered."""


class TerminalSection(Struct, frozen=True, tag_field="section", tag="terminal"):
    """What a program printed, with ANSI escapes."""

    text: str
    stream: str = "output"
    """output or error."""


class DiffSection(Struct, frozen=True, tag_field="section", tag="diff"):
    """A change of a file."""

    path: str
    hunks: tuple[Hunk, ...]
    created: bool = False
    note: str = ""
    """What is not sure about it."""


class TextSection(Struct, frozen=True, tag_field="section", tag="text"):
    """Markdown, such as a plan, a prompt for a sub-agent, or what it reported."""

    text: str
    title: str = ""


class PlainSection(Struct, frozen=True, tag_field="section", tag="plain"):
    """Words that are no Markdown: an error, a short result."""

    text: str
    title: str = ""
    tone: str = "plain"
    """plain, note, warning, error."""


class FieldsSection(Struct, frozen=True, tag_field="section", tag="fields"):
    """Names and values."""

    rows: tuple[tuple[str, str], ...]


class TreeSection(Struct, frozen=True, tag_field="section", tag="tree"):
    """Any JSON value, to be shown folded and indented."""

    value: Any
    title: str = ""


class HitsSection(Struct, frozen=True, tag_field="section", tag="hits"):
    """Places that a search found."""

    rows: tuple[tuple[str, str, str], ...]
    """(file, line number or nothing, text)."""
    total: int
    """How many there are; more than the rows where the tool cut them."""


class LinkSection(Struct, frozen=True, tag_field="section", tag="link"):
    """An address; only http and https may become links."""

    url: str
    title: str = ""
    text: str = ""


class ChecklistTask(Struct, frozen=True):
    """One line of a checklist."""

    text: str
    state: str
    """pending, in_progress, completed, deleted, or what else the tool says."""
    change: str = ""
    """new, changed, gone; nothing where it is as before."""


class ChecklistSection(Struct, frozen=True, tag_field="section", tag="checklist"):
    """A list of tasks as it stands now, and what has changed."""

    tasks: tuple[ChecklistTask, ...]


class QuestionChoice(Struct, frozen=True):
    """A question, what there was to choose from, and what was chosen."""

    question: str
    options: tuple[tuple[str, str], ...]
    """(label, description)."""
    answers: tuple[str, ...]
    """Labels, or words of the person's own."""


class QuestionsSection(Struct, frozen=True, tag_field="section", tag="questions"):
    """Questions to the person."""

    choices: tuple[QuestionChoice, ...]


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
    """One call."""

    id: str
    tool: str
    """Its name as the transcript has it."""
    family: str
    """session.calls.FAMILIES, mcp or other."""
    title: str
    """What it was asked, on one line: the command, the path, the query."""
    outcome: str
    """answered, error, denied, interrupted, launched, unanswered (session.calls.Detail)."""
    asked: tuple[Section, ...] = ()
    answered: tuple[Section, ...] = ()
    badges: tuple[str, ...] = ()
    """Short facts for the head: `exit 1`, `+12 −3`, `24 hits`, `in background`."""
    duration_ms: int | None = None
    """From the call's line to its result."""
    offset: int = 0
    """Where the entry with the call begins, and the one with its result: for the raw entries."""
    result_offset: int | None = None
    agent_id: str | None = None
