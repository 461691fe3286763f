"""The result of a call in a terminal: the first lines of its text, a diff, a list of tasks or its size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from turnlog.render.diff_lines import render_diff_lines
from turnlog.render.figures import format_count, format_duration, format_size, format_thousands
from turnlog.render.terminal import TerminalScreen as Look
from turnlog.render.terminal import take_first_lines, to_visible_line, wrap_words
from turnlog.session.files.patches import Hunk, read_recorded_hunks

Object = Mapping[str, Any]

MAX_RESULT_LINES = 5
"""The number of lines to show of a result."""
_MAX_LINE_CHARS = 400
_LONG_CALL_MILLISECONDS = 10_000
"""A call that took longer is shown with its duration."""
_TODO_MARKS = {"completed": "[x]", "in_progress": "[>]"}
_TODO_INDENT = 4
_ERROR_TAGS = ("<tool_use_error>", "</tool_use_error>")


class ResultView(NamedTuple):
    """What a terminal needs to know about a result."""

    tool: str
    arguments: Any
    text: str
    record: Any
    """The client's own record of the result (`toolUseResult`)."""
    is_error: bool = False
    is_rejected: bool = False
    milliseconds: int = 0
    is_diff_shown: bool = False
    """Whether the change of a file is already on the screen, so that its size is enough."""


def render_call_result(result: ResultView, look: Look) -> Iterator[str]:
    """Render the result of a call as lines."""
    facts = result.record if isinstance(result.record, dict) else {}
    if result.is_rejected:
        yield look.paint("not run", "yellow")
    elif result.is_error:
        yield from (look.paint(look.fit(part, 4), "red") for part in _take_first_lines(_strip_error_tags(result.text)))
    elif hunks := read_recorded_hunks(facts.get("structuredPatch")):
        if result.is_diff_shown:
            yield look.paint(_describe_size(hunks), "dim")
        else:
            yield from render_diff_lines(hunks, look)
    elif facts.get("type") == "create" and isinstance(content := facts.get("content"), str):
        yield look.paint(f"created, {format_count(len(content.splitlines()), 'line')}", "dim")
    elif result.tool == "TodoWrite" and isinstance(result.arguments, Mapping):
        todos = result.arguments.get("todos")
        rows = [todo for todo in todos if isinstance(todo, Mapping)] if isinstance(todos, list) else []
        lines = render_todo_lines((str(todo.get("content") or ""), str(todo.get("status"))) for todo in rows)
        for line in lines:
            yield from [line] if look.width is None else wrap_words(line, look.width - 3, _TODO_INDENT)
    elif isinstance(file := facts.get("file"), dict) and isinstance(number := file.get("numLines"), int):
        yield look.paint(format_count(number, "line"), "dim")
    else:
        yield from (look.paint(look.fit(part, 4), "dim") for part in _render_plain_result(result, facts))


def _describe_size(hunks: Sequence[Hunk]) -> str:
    """Describe how many lines a change adds and removes."""
    marks = [line[:1] for hunk in hunks for line in hunk.lines]
    return f"{format_count(marks.count('+'), 'line')} added, {marks.count('-')} removed"


def render_todo_lines(todos: Iterator[tuple[str, str]]) -> Iterator[str]:
    """Render a list of tasks, each with its status."""
    for text, status in todos:
        yield f"{_TODO_MARKS.get(status, '[ ]')} {to_visible_line(text[:_MAX_LINE_CHARS])}"


def _render_plain_result(result: ResultView, facts: Object) -> list[str]:
    """Render the start of a text result, and its size or duration."""
    is_long = result.milliseconds >= _LONG_CALL_MILLISECONDS
    duration = f" ({format_duration(result.milliseconds)})" if is_long else ""
    if path := facts.get("persistedOutputPath"):
        lines, _ = take_first_lines(_to_text(facts.get("stdout")), MAX_RESULT_LINES, _MAX_LINE_CHARS)
        size = format_size(_to_count(facts.get("persistedOutputSize")))
        return [*lines, f"… full output ({size}){duration}: {to_visible_line(str(path))}"]
    if isinstance(uses := facts.get("totalToolUseCount"), int):
        blocks = facts.get("content")
        texts = [block.get("text") for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
        used = format_thousands(_to_count(facts.get("totalTokens")))
        report = _take_first_lines("\n".join(map(_to_text, texts)))
        return [*report, f"{format_count(uses, 'call')}, {used} tokens{duration}"]
    return _take_first_lines(result.text or "(no output)", duration)


def _take_first_lines(text: str, more: str = "") -> list[str]:
    lines, left = take_first_lines(text, MAX_RESULT_LINES, _MAX_LINE_CHARS)
    return [*lines, *([f"… {format_count(left, 'more line')}{more}"] if left else [])]


def _strip_error_tags(text: str) -> str:
    return text.removeprefix(_ERROR_TAGS[0]).removesuffix(_ERROR_TAGS[1])


def _to_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _to_count(value: object) -> int:
    return value if isinstance(value, int) else 0
