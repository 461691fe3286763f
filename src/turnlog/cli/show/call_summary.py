"""Renders a tool call as lines: its input and its outcome."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from turnlog.cli.terminal import make_visible, take_first_lines, to_visible_lines
from turnlog.render.figures import format_count
from turnlog.session.calls import CallDetail
from turnlog.session.failures import to_result_text

MAX_LINE_CHARS = 300
"""Maximum length of a first line, however wide the terminal is."""

_OUTCOME_WORDS = {
    "unanswered": "no result",
    "denied": "denied",
    "interrupted": "interrupted",
    "launched": "continues in the background",
    "error": "failed",
}
_USER_SAID_MARK = "the user said:"
_REJECTION_START = "The user doesn't want to"
BAD_OUTCOMES = frozenset({"error", "denied", "interrupted"})


class CallSummary(NamedTuple):
    text: str
    is_bad: bool


def render_full_input(given: Any) -> list[str]:
    if not isinstance(given, dict):
        return to_visible_lines(_encode_compact(given))
    found: list[str] = []
    for name, value in given.items():
        text = to_visible_lines(value if isinstance(value, str) else _encode_compact(value))
        found += (
            [f"{make_visible(name)}: {text[0]}"] if len(text) == 1 else [f"{make_visible(name)}:", *indent_lines(text)]
        )
    return found


def indent_lines(texts: list[str], by: str = "  ") -> list[str]:
    return [by + text for text in texts]


def summarize_call_result(detail: CallDetail) -> CallSummary:
    """Summarise the outcome of a call on one line."""
    text = to_result_text(detail.result)
    words = _OUTCOME_WORDS.get(detail.outcome, "")
    if detail.outcome == "launched" and detail.background_id:
        words += f" ({make_visible(detail.background_id)})"
    if not words:
        words = _describe_counts(detail.structured)
    if not words and detail.persisted:
        words = f"too long for the transcript, kept in {make_visible(detail.persisted)}"
    if not words or detail.outcome in ("error", "denied"):
        said = first_line(_extract_objection(text) if detail.outcome == "denied" else _clean_result_text(text))
        words = f"{words}: {said}" if words and said else words or said or "nothing"
    return CallSummary(words, detail.outcome in BAD_OUTCOMES)


def render_full_result(detail: CallDetail) -> list[str]:
    return to_visible_lines(to_result_text(detail.result)) if detail.result is not None else []


def first_line(text: str) -> str:
    """Return the first non-empty line and the number of lines that follow."""
    (first,), more = take_first_lines(text.strip(), 1, MAX_LINE_CHARS)
    return f"{first.strip()} (+{format_count(more, 'line')})" if more else first.strip()


def _extract_objection(text: str) -> str:
    """Return why a user, rule or hook denied a call, without the sentence that Claude Code puts around the reason."""
    if (at := text.find(_USER_SAID_MARK)) >= 0:
        return text[at + len(_USER_SAID_MARK) :].strip()
    return "" if text.startswith(_REJECTION_START) else _clean_result_text(text)


def _clean_result_text(text: str) -> str:
    """Return the text of a result without tags, starting with the last output of a failed command."""
    text = text.strip().removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    if not text.startswith("Exit code "):
        return text
    first, _, rest = text.partition("\n")
    before, _, last = rest.rstrip().rpartition("\n")
    return f"{first.lower()}: {last.strip()}\n{before}" if last else first.lower()


def _describe_counts(structured: Any) -> str:
    """Describe a result with counts from Claude Code's record, if they are more informative than its first line."""
    if not isinstance(structured, dict):
        return ""
    patch, file = structured.get("structuredPatch"), structured.get("file")
    if isinstance(patch, list) and patch:
        signs = [str(row)[:1] for hunk in patch if isinstance(hunk, dict) for row in _to_list(hunk.get("lines"))]
        return f"{signs.count('+')} added, {signs.count('-')} removed"
    if structured.get("type") == "create" and isinstance(content := structured.get("content"), str):
        return f"created, {format_count(len(content.splitlines()), 'line')}"
    if isinstance(file, dict) and isinstance(number := file.get("numLines"), int):
        return format_count(number, "line")
    return ""


def _to_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _encode_compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
