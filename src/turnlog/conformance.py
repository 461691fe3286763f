"""Checks for plugins: whether a card, an exporter or a redaction rule can handle anything that transcripts contain.

    from turnlog.conformance import check_card, check_exporter, check_redaction_rule

    def test_the_card_conforms():
        check_card(IssueCard(), [ToolCall("mcp__jira__get_issue", {"key": "ACME-7"}, "answered", "…", "…")])

Each function returns None or raises `ConformanceFailure` with the problem and the input that caused it. The functions
don't need a test framework. turnlog's own cards, formats and rules pass the same checks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from turnlog.demo import config_dir
from turnlog.errors import TurnlogError
from turnlog.export.material import ExportChoice, ExportMaterial
from turnlog.export.plugin_exporters import ExportDocument, Exporter, encode_piece, read_file_ending
from turnlog.plugin_lookup import PLUGIN_ERRORS, describe_exception
from turnlog.redact.plugin_rules import RedactionRule, read_hints, read_spans
from turnlog.render.render_options import SHOW_EVERYTHING, RenderOptions
from turnlog.render.tools.plugin_cards import ToolCall, ToolCard, check_contents, read_tool_patterns
from turnlog.session.session import Session

_Value = TypeVar("_Value")
HOSTILE_TEXTS = (
    "",
    " ",
    "\n",
    "\0",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "[x](javascript:alert(1))",
    "\x1b[2J\x1b]0;title\x07",
    "\u202egnp.exe\u2066\u200b",
    "half a surrogate \ud800",
    "{{7*7}} {0} %s ${x}",
    "../../etc/passwd",
    "[secret:github:1]",
    "{",
    "[]",
    "null",
    '{"a": [1, {"b": null}]}',
    "İıſK ÄÖÜ 漢字 😀",
    "a" * 5_000,
    "x y\n" * 2_000,
)
"""Hostile text that may occur in transcripts and that breaks careless code."""
HOSTILE_VALUES: tuple[Any, ...] = (
    *HOSTILE_TEXTS,
    None,
    True,
    -1,
    10**30,
    0.5,
    float("inf"),
    [],
    {},
    [[[[]]]],
    {"": {"": ""}},
    [None, 1, "a", {"type": "text"}, {"type": "text", "text": None}, {"type": "image"}],
)
OUTCOMES = ("answered", "error", "denied", "interrupted", "launched", "unanswered")


class ConformanceFailure(AssertionError):
    """A plugin violates its interface."""


# -- tool cards


def check_card(card: ToolCard, calls: Iterable[ToolCall] = ()) -> None:
    """Check a card with calls to its tools and with variants of those calls that have unexpected values."""
    patterns = _run_check("tools", lambda: read_tool_patterns(card))
    samples = [*calls] or [ToolCall(_to_tool_name(pattern), {}, "answered", "", "") for pattern in patterns]
    for sample in samples:
        for call in _iter_call_variants(sample):
            _check_call(card, call)


def _to_tool_name(pattern: str) -> str:
    return pattern.replace("*", "x").replace("?", "x")


def _iter_call_variants(call: ToolCall) -> Iterator[ToolCall]:
    yield call
    for outcome in OUTCOMES:
        yield replace(call, outcome=outcome)
    for name in (*call.input, "key", ""):
        for value in HOSTILE_VALUES:
            yield replace(call, input={**call.input, name: value})
    for value in HOSTILE_VALUES:
        yield replace(call, input={}, result=value, record=value)
        yield replace(call, record={"content": value, "key": value})
        text = value if isinstance(value, str) else json.dumps(value)
        yield replace(call, result=[{"type": "text", "text": text}], result_text=text)


def _check_call(card: ToolCard, call: ToolCall) -> None:
    before = deepcopy(call)
    first, second = (_run_check(_describe_call(call), lambda: card.show_call(call)) for _ in range(2))
    if repr(call) != repr(before):
        raise ConformanceFailure(f"{_describe_call(before)}: the card changed the call")
    if repr(first) != repr(second):
        raise ConformanceFailure(f"{_describe_call(call)}: the card shows the same call in two ways")
    if first is not None:
        _run_check(_describe_call(call), lambda: check_contents(first))


def _describe_call(call: ToolCall) -> str:
    return _shorten(f"show_call({call!r})")


# -- exporters


def check_exporter(exporter: Exporter, sessions: Iterable[Path] = ()) -> None:
    """Check an exporter with session files, the demo, a hostile session and an empty one, in full and in part."""
    _run_check("file_ending", lambda: read_file_ending(exporter))
    with TemporaryDirectory(prefix="turnlog-conformance-") as folder:
        hostile, empty = Path(folder) / "hostile.jsonl", Path(folder) / "empty.jsonl"
        hostile.write_bytes(build_hostile_session())
        empty.write_bytes(b"")
        demo = sorted(config_dir().glob("projects/*/*.jsonl"))
        for path in [hostile, empty, *demo, *sessions]:
            for choice in _list_export_choices():
                _check_export(exporter, path, choice)


def _list_export_choices() -> list[ExportChoice]:
    nothing = RenderOptions(tools=False, thinking=False, pictures=False)
    return [
        ExportChoice(),
        ExportChoice(SHOW_EVERYTHING, all_branches=True),
        ExportChoice(nothing, agents=False, is_redacted=True),
    ]


def _check_export(exporter: Exporter, path: Path, choice: ExportChoice) -> None:
    def export() -> None:
        with Session.open(path) as session:
            for piece in exporter.export_session(ExportDocument(ExportMaterial(session, choice))):
                encode_piece(piece)

    _run_check(f"export_session of {path.name}", export)


def build_hostile_session() -> bytes:
    """Build a session that is hard to render: each hostile string is in a prompt, an answer, a call and a result."""
    lines: list[dict[str, Any]] = []
    for number, text in enumerate(HOSTILE_TEXTS):
        call = {"type": "tool_use", "id": f"call-{number}", "name": "mcp__x__y", "input": {"key": text, text: text}}
        answer = [{"type": "text", "text": text}, {"type": "thinking", "thinking": text}, call]
        result = [
            {"type": "tool_result", "tool_use_id": f"call-{number}", "content": text, "is_error": number % 2 == 0}
        ]
        lines += [
            {"type": "user", "message": {"role": "user", "content": text}},
            {"type": "assistant", "message": {"role": "assistant", "model": text, "content": answer}},
            {"type": "user", "message": {"role": "user", "content": result}},
            {"type": f"unknown-{number}", "text": text},
            {"type": "custom-title", "customTitle": text},
        ]
    common = {"sessionId": "0057011e-0000-4000-8000-000000000000", "version": "2.1.325", "cwd": "/home/dana"}
    entries = [
        {"uuid": f"u{at}", "parentUuid": f"u{at - 1}" if at else None, **common, **line}
        for at, line in enumerate(lines)
    ]
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries) + b"no JSON\n"


# -- redaction rules


def check_redaction_rule(rule: RedactionRule, examples: Iterable[str] = ()) -> None:
    """Check a rule against hostile text and examples, each of which must contain a secret."""
    if not callable(getattr(rule, "find_secrets", None)):
        raise ConformanceFailure("it has no find_secrets method")
    hints = _run_check("hints", lambda: read_hints(rule))
    for example in examples:
        if not _find_twice(rule, example):
            raise ConformanceFailure(f"{_shorten(repr(example))}: the rule finds nothing in this example")
        if hints is not None and not any(hint in example.lower() for hint in hints):
            raise ConformanceFailure(f"{_shorten(repr(example))}: the example contains none of the hints")
        for text in HOSTILE_TEXTS:
            _find_twice(rule, text + example)
            _find_twice(rule, example + text)
    for text in HOSTILE_TEXTS:
        _find_twice(rule, text)


def _find_twice(rule: RedactionRule, text: str) -> list[tuple[int, int]]:
    call = _shorten(f"find_secrets({text!r})")
    first, second = (_run_check(call, lambda: read_spans(rule.find_secrets(text), text)) for _ in range(2))
    if first != second:
        raise ConformanceFailure(f"{call}: the second call finds other secrets in the same text")
    return first


# -- shared by all checks


def _run_check(subject: str, function: Callable[[], _Value]) -> _Value:
    try:
        return function()
    except TurnlogError:
        raise
    except PLUGIN_ERRORS as error:
        raise ConformanceFailure(f"{subject}: {describe_exception(error)}") from error


def _shorten(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
