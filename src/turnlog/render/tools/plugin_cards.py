"""Cards from other packages, for tools without a built-in card, such as an MCP server's tools.

A card returns sections, never markup: escaping is done in `render`. If a card fails, the failure is reported once, and
the generic card is used instead.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Any, NamedTuple, Protocol

import msgspec

from turnlog.errors import BrokenPlugin
from turnlog.plugin_lookup import (
    CARD_GROUP,
    PLUGIN_ERRORS,
    InstalledPlugin,
    describe_exception,
    find_plugins,
    report_once,
)
from turnlog.render.card import (
    ChecklistSection,
    CodeSection,
    FieldsSection,
    HitsSection,
    LinkSection,
    PlainSection,
    Section,
    TerminalSection,
    TextSection,
    TreeSection,
)
from turnlog.render.json_bytes import to_plain_value
from turnlog.render.tools.card_parts import CardParts, CardSource, show_outcome
from turnlog.render.values import to_short_line

CARD_SECTIONS = (
    ChecklistSection,
    CodeSection,
    FieldsSection,
    HitsSection,
    LinkSection,
    PlainSection,
    TerminalSection,
    TextSection,
    TreeSection,
)
"""The sections that a card from another package may contain."""
CardSection = (
    ChecklistSection
    | CodeSection
    | FieldsSection
    | HitsSection
    | LinkSection
    | PlainSection
    | TerminalSection
    | TextSection
    | TreeSection
)
MAX_CARD_SECTIONS = 100
MAX_CARD_BADGES = 8
MAX_BADGE_CHARS = 60
_ALLOWED_VALUES = {"tone": ("plain", "note", "warning", "error"), "stream": ("output", "error")}


@dataclass(frozen=True)
class ToolCall:
    """A call and its result, as in the transcript. Treat its values as hostile input, and don't change them."""

    tool: str
    """The name of the tool, such as `mcp__jira__get_issue`."""
    input: Mapping[str, Any]
    """The input from the model; empty if it is not a JSON object."""
    outcome: str
    """answered, error, denied, interrupted, launched (continues in the background) or unanswered."""
    result: Any = None
    """The result for the model: text, a list of content blocks, or None."""
    result_text: str = ""
    """The joined text of the result."""
    record: Any = None
    """The client's own record of the result, or None."""
    working_folder: str | None = None


class CardContents(NamedTuple):
    """The content of a card."""

    title: str
    """What the call requested, on one line."""
    asked: Sequence[CardSection] = ()
    """Sections about the input."""
    answered: Sequence[CardSection] = ()
    """Sections about the result. turnlog itself shows errors, denials, interruptions and pictures."""
    badges: Sequence[str] = ()
    """Short facts for the head of the card, such as `3 issues`."""


class ToolCard(Protocol):
    """Shows the calls of certain tools."""

    @property
    def tools(self) -> Sequence[str]:
        """The names of the tools; `*` and `?` match any characters, as in `mcp__jira__*`."""

    def show_call(self, call: ToolCall) -> CardContents | None:
        """Return the contents of the card, or None for the generic card; may be called from several threads."""


class PluginCard(NamedTuple):
    plugin: InstalledPlugin
    card: ToolCard
    tools: tuple[str, ...]

    def has_tool(self, name: str) -> bool:
        """Return whether the card covers a tool."""
        return any(fnmatchcase(name, pattern) for pattern in self.tools)


def build_plugin_parts(work: CardSource, built_in: Collection[str]) -> CardParts | None:
    """Build the parts with a card from another package; return None if there is none or if it fails."""
    found = _find_card(work.name, tuple(built_in))
    if found is None:
        return None
    try:
        contents = found.card.show_call(_to_tool_call(work))
        if contents is None:
            return None
        contents = check_contents(contents)
    except PLUGIN_ERRORS as error:
        failure = found.plugin.build_failure(f"failed on a call to {work.name}: {describe_exception(error)}")
        report_once(found.plugin, str(failure))
        return None
    answered: list[Section] = [*contents.answered, *work.pictures]
    outcome = show_outcome(work, lambda _: answered)
    return CardParts(contents.asked, outcome, contents.badges, title=contents.title)


def _to_tool_call(work: CardSource) -> ToolCall:
    detail = work.detail
    return ToolCall(work.name, work.input_fields, work.outcome, detail.result, work.words, detail.structured, work.cwd)


def check_contents(contents: object) -> CardContents:
    """Check the types in a card's contents, so that no writer fails on them later, and return the contents."""
    if not isinstance(contents, CardContents):
        raise TypeError(f"show_call returned {type(contents).__name__}, not CardContents")
    texts: tuple[object, ...] = (contents.title, *contents.badges)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("the title or a badge is not a string")
    if len(contents.asked) + len(contents.answered) > MAX_CARD_SECTIONS:
        raise ValueError(f"a card can have at most {MAX_CARD_SECTIONS} sections")
    return CardContents(
        to_short_line(contents.title),
        tuple(map(_check_section, contents.asked)),
        tuple(map(_check_section, contents.answered)),
        tuple(to_short_line(badge, MAX_BADGE_CHARS) for badge in contents.badges[:MAX_CARD_BADGES]),
    )


def _check_section(section: CardSection) -> CardSection:
    if type(section) not in CARD_SECTIONS:
        raise TypeError(f"{type(section).__name__} is not a section that a card may contain")
    for name, values in _ALLOWED_VALUES.items():
        if getattr(section, name, values[0]) not in values:
            raise ValueError(f"{type(section).__name__}.{name} is not one of {', '.join(values)}")
    return msgspec.convert(to_plain_value(section), type(section))


@lru_cache(maxsize=256)
def _find_card(tool: str, built_in: tuple[str, ...]) -> PluginCard | None:
    found = [card for card in _load_cards(built_in) if card.has_tool(tool)]
    for other in found[1:]:
        message = f"{other.plugin.label} is not used for {tool}: {found[0].plugin.label} shows it"
        report_once((other.plugin, tool), message)
    return found[0] if found else None


@cache
def _load_cards(built_in: tuple[str, ...]) -> list[PluginCard]:
    """Load all usable cards in package order, and report the others."""
    found = []
    try:
        for plugin in find_plugins(CARD_GROUP):
            try:
                found.append(load_card(plugin, built_in))
            except BrokenPlugin as error:
                report_once(plugin, str(error))
    except BrokenPlugin as error:
        report_once(CARD_GROUP, str(error))
    return found


def load_card(plugin: InstalledPlugin, built_in: Collection[str]) -> PluginCard:
    """Load a card; fail if it is incomplete or covers a tool that has a built-in card."""
    card = plugin.create()
    try:
        tools = read_tool_patterns(card)
    except PLUGIN_ERRORS as error:
        raise plugin.build_failure(f"can't be used: {describe_exception(error)}") from error
    if known := sorted({*tools}.intersection(built_in)):
        raise plugin.build_failure(f"is not used: turnlog has its own card for {known[0]}")
    return PluginCard(plugin, card, tools)


def read_tool_patterns(card: ToolCard) -> tuple[str, ...]:
    """Return the tools that a card covers; raise `TypeError` if it is not a card."""
    if not callable(getattr(card, "show_call", None)):
        raise TypeError("it has no show_call method")
    tools = getattr(card, "tools", None)
    if not isinstance(tools, tuple | list) or not tools or not all(isinstance(tool, str) and tool for tool in tools):
        raise TypeError("its tools attribute is not a list of names")
    return tuple(tools)
