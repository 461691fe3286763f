"""The checks for plugins: what is built in passes them, and each defect is found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

import turnlog.plugins
from turnlog.conformance import ConformanceFailure, check_card, check_exporter, check_redaction_rule
from turnlog.errors import Refused
from turnlog.export.formats import EXPORT_FORMATS, iter_exported_bytes
from turnlog.plugins import CardContents, ExportDocument, FieldsSection, PlainSection, ToolCall
from turnlog.redact.personal_data import EmailRule, HomeFolderRule
from turnlog.redact.rules import build_standard_rules
from turnlog.redact.secret_rule import SecretRule
from turnlog.redact.text_view import TextView
from turnlog.render.call_titles import build_call_title
from turnlog.render.tools import PART_BUILDERS
from turnlog.render.tools.card_parts import CardSource
from turnlog.render.tools.generic_tools import build_generic_parts
from turnlog.render.tools.plugin_cards import CARD_SECTIONS
from turnlog.session.calls import CallDetail


class BuiltInCard:
    """A card of ours behind the interface for plugins, without the sections that only we have."""

    def __init__(self, tool: str, build: Callable[[CardSource], Any]) -> None:
        self.tools = (tool,)
        self._build = build

    def show_call(self, call: ToolCall) -> CardContents:
        detail = CallDetail(dict(call.input), call.result, call.record, call.outcome, None, None)
        parts = self._build(CardSource(call.tool, detail, call.working_folder))
        asked, answered = (
            [part for part in sections if type(part) in CARD_SECTIONS] for sections in (parts.asked, parts.answered)
        )
        title = build_call_title(call.tool, dict(call.input), call.working_folder)
        return CardContents(title, asked, answered, [badge for badge in parts.badges if badge])


BUILDERS = {**PART_BUILDERS, "mcp__x__y": build_generic_parts, "Unknown": build_generic_parts}


@pytest.mark.parametrize("tool", BUILDERS)
def test_every_built_in_card_conforms(tool: str) -> None:
    check_card(BuiltInCard(tool, BUILDERS[tool]))


class BuiltInRule:
    """A rule of ours behind the interface for plugins."""

    def __init__(self, rule: SecretRule) -> None:
        self._rule = rule
        self.hints = rule.hints or None

    def find_secrets(self, text: str) -> Iterator[tuple[int, int]]:
        view = TextView(text)
        return (view.find_origin(found.start, found.end) for found in self._rule.find(view))


@pytest.mark.parametrize(
    "rule", [*build_standard_rules(), EmailRule(), HomeFolderRule()], ids=lambda rule: type(rule).__name__
)
def test_every_built_in_rule_conforms(rule: SecretRule) -> None:
    check_redaction_rule(BuiltInRule(rule))


@dataclass
class BuiltInExporter:
    """A format of ours behind the interface for plugins."""

    form: str
    file_ending: str = ".txt"

    def export_session(self, document: ExportDocument) -> Iterator[bytes]:
        material = document._material
        if self.form in ("messages", "openai"):  # which are one conversation, that the client would resume
            material.choice = material.choice._replace(all_branches=False)
            try:
                return iter([*iter_exported_bytes(self.form, material)])
            except Refused:
                return iter([])
        return iter_exported_bytes(self.form, material)


@pytest.mark.parametrize("form", [name for name, form in EXPORT_FORMATS.items() if form.module])
def test_every_built_in_format_of_one_stream_conforms(form: str) -> None:
    check_exporter(BuiltInExporter(form))


class Card:
    """A card that does what a test wants."""

    def __init__(self, show: Callable[[ToolCall], Any], tools: Any = ("mcp__x__*",)) -> None:
        self.tools: Sequence[str] = tools
        self.show_call = show


NUMBERS = count()


def change_input(call: ToolCall) -> None:
    call.input.pop("key", None)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("card", "reason"),
    [
        (Card(lambda call: CardContents("x"), tools=()), "not a list of names"),
        (Card(lambda call: CardContents(call.input["key"])), "KeyError"),
        (Card(lambda call: CardContents(call.input.get("key", "").upper())), "AttributeError"),
        (Card(lambda call: CardContents(str(next(NUMBERS)))), "the same call in two ways"),
        (Card(lambda call: "<b>x</b>"), "not CardContents"),
        (Card(lambda call: CardContents("x", [FieldsSection((("a", call.record),))])), "FieldsSection|Expected"),
        (Card(lambda call: CardContents("x", [PlainSection("x", tone="loud")])), "tone"),
        (Card(change_input), "changed the call"),
    ],
)
def test_a_card_with_a_defect_is_found_out(card: Card, reason: str) -> None:
    with pytest.raises(ConformanceFailure, match=reason):
        check_card(card)


def test_a_card_may_leave_a_call_to_turnlog() -> None:
    check_card(Card(lambda call: None))


class Rule:
    """A rule that does what a test wants."""

    def __init__(self, find: Callable[[str], Any], hints: Any = None) -> None:
        self.find_secrets: Callable[[str], Iterable[tuple[int, int]]] = find
        self.hints = hints


@pytest.mark.parametrize(
    ("rule", "examples", "reason"),
    [
        (Rule(lambda text: [(0, 1)]), [], "returned \\(0, 1\\) for text of 0"),
        (Rule(lambda text: None), [], "TypeError"),
        (Rule(lambda text: [text.index("{")][:0]), [], "ValueError"),
        (Rule(lambda text: [(0, 1)] if text and next(NUMBERS) % 2 else []), [], "the second call finds other secrets"),
        (Rule(lambda text: []), ["EMP-1"], "finds nothing in this example"),
        (Rule(lambda text: [(0, len(text))] if text else [], ("badge",)), ["EMP-1"], "none of the hints"),
        (Rule(lambda text: [], ("EMP",)), [], "lowercase"),
        (Rule(7), [], "no find_secrets method"),  # type: ignore[arg-type]
    ],
)
def test_a_rule_with_a_defect_is_found_out(rule: Rule, examples: list[str], reason: str) -> None:
    with pytest.raises(ConformanceFailure, match=reason):
        check_redaction_rule(rule, examples)


@dataclass
class TextExporter:
    """An exporter that does what a test wants."""

    write: Callable[[ExportDocument], Any]
    file_ending: Any = ".txt"

    def export_session(self, document: ExportDocument) -> Any:
        return self.write(document)


@pytest.mark.parametrize(
    ("exporter", "reason"),
    [
        (TextExporter(lambda document: [], file_ending="txt"), "ending"),
        (TextExporter(lambda document: [7]), "not str or bytes"),
        (TextExporter(lambda document: [document.turns[0]["title"]]), "IndexError"),
        (TextExporter(lambda document: [item["blocks"] for item in document.iter_items()]), "KeyError"),
        (TextExporter(lambda document: [document.session["title"].upper()]), "AttributeError"),
    ],
)
def test_an_exporter_with_a_defect_is_found_out(exporter: TextExporter, reason: str) -> None:
    with pytest.raises(ConformanceFailure, match=reason):
        check_exporter(exporter)


def test_every_public_name_is_there_sorted_and_imported_on_use() -> None:
    names = turnlog.plugins.__all__
    assert names == sorted(names)
    for name in names:
        assert getattr(turnlog.plugins, name) is not None
    assert dir(turnlog.plugins) == names
    with pytest.raises(AttributeError, match=re.escape("no attribute 'CardSource'")):
        _ = turnlog.plugins.CardSource  # type: ignore[attr-defined]
