"""Summarises a conversation without a model: what was asked and answered, which files were touched, and what was run.

The result is an outline that quotes the session and is labelled as such. It can't show what was decided or why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from turnlog.edit.compress.extract import extract_sentences
from turnlog.edit.strip.conversation_text import shorten_middle
from turnlog.entries.entry import Entry
from turnlog.session.calls import read_call_inputs
from turnlog.session.messages import FILLER_TEXT
from turnlog.session.session import Session
from turnlog.session.touched_files import list_touched_files
from turnlog.session.turns import Turn
from turnlog.session.usage.prices import SYNTHETIC_MODEL

RECAP_NOTE = (
    "This outline quotes the session word for word; no model wrote it. It shows what was said and done, not why."
)
MAX_PROMPT_CHARS, MAX_ANSWER_CHARS, MAX_LAST_ANSWER_CHARS, MAX_COMMAND_CHARS, MAX_EARLIER_SUMMARY_CHARS = (
    600,
    400,
    2_000,
    160,
    6_000,
)
"""The maximum length in characters of each prompt, each answer, the last answer, a command, and an earlier summary."""
MAX_LISTED_COMMANDS = 20
_SHELL_TOOLS = frozenset({"Bash", "PowerShell"})


def build_recap(session: Session, rows: Sequence[Entry]) -> str:
    parts = [
        RECAP_NOTE,
        _render_earlier_summary(session, rows),
        _render_turns(session, rows),
        _render_files(session, rows),
        _render_commands(session, rows),
    ]
    return "\n\n".join(filter(None, parts))


def _render_earlier_summary(session: Session, rows: Sequence[Entry]) -> str:
    """Quote the summary of an earlier compaction."""
    texts = (_extract_text(session, row) for row in rows if row.is_compact_summary)
    text = next(filter(None, texts), "").partition("Summary:\n")
    summary = text[2] or text[0]
    return (
        f"Before that (from an earlier summary):\n{shorten_middle(summary, MAX_EARLIER_SUMMARY_CHARS)}"
        if summary
        else ""
    )


def _render_turns(session: Session, rows: Sequence[Entry]) -> str:
    """List what was asked and answered, turn by turn."""
    turns: dict[int, tuple[Turn, list[Entry]]] = {}
    for row in rows:
        if (turn := session.find_turn(row)) is not None:
            turns.setdefault(turn.number, (turn, []))[1].append(row)
    last = max(turns, default=0)
    lines = (
        line
        for turn, turn_rows in turns.values()
        for line in _render_turn(session, turn, turn_rows, is_last=turn.number == last)
    )
    text = "\n".join(lines)
    return f"What was asked and answered:\n{text}" if text else ""


def _render_turn(session: Session, turn: Turn, rows: Sequence[Entry], *, is_last: bool) -> Iterator[str]:
    yield f"{turn.number}. {_describe_asker(turn)}: {_shorten_to_line(turn.text, MAX_PROMPT_CHARS)}"
    yield from (f"   Also: {_shorten_to_line(text, MAX_PROMPT_CHARS)}" for text in turn.further)
    answers = (
        _extract_text(session, row)
        for row in reversed(rows)
        if row.type == "assistant" and not _is_filler_answer(session, row)
    )
    answer = next(filter(None, answers), "")
    if answer and is_last:
        yield f"   Answered:\n{shorten_middle(answer, MAX_LAST_ANSWER_CHARS)}"
    elif answer:
        extract = extract_sentences(answer, MAX_ANSWER_CHARS) if len(answer) > MAX_ANSWER_CHARS else None
        yield f"   Answered: {_shorten_to_line(extract.text if extract else answer, MAX_ANSWER_CHARS * 2)}"


def _describe_asker(turn: Turn) -> str:
    """Return the label for the start of a turn; only what a person typed is labelled `Asked`."""
    if turn.prompt.is_typed:
        return "Asked"
    if turn.kind == "notification":
        return "A background task reported"
    return f"Message from {turn.speaker.name or 'another agent'} (not the user)"


def _is_filler_answer(session: Session, row: Entry) -> bool:
    is_made_up = row.message is not None and row.message.model == SYNTHETIC_MODEL and not row.is_api_error_message
    return is_made_up and _extract_text(session, row) == FILLER_TEXT


def _render_files(session: Session, rows: Sequence[Entry]) -> str:
    indexes = {row.index for row in rows}
    files = list_touched_files(session.file, [call for call in session.calls if call.line.index in indexes])
    items = [
        f"- {file.path}: {_format_times(file.reads, 'read')}, {_format_times(file.writes, 'changed')}" for file in files
    ]
    return "\n".join(["Files:", *items]) if items else ""


def _render_commands(session: Session, rows: Sequence[Entry]) -> str:
    indexes = {row.index for row in rows}
    calls = [call for call in session.calls if call.name in _SHELL_TOOLS and call.line.index in indexes][
        -MAX_LISTED_COMMANDS:
    ]
    items = [
        f"- {_shorten_to_line(command, MAX_COMMAND_CHARS)}{' (failed)' if call.is_error else ''}"
        for call, arguments in zip(calls, read_call_inputs(session.file, calls), strict=True)
        if isinstance(arguments, dict) and isinstance(command := arguments.get("command"), str)
    ]
    return "\n".join(["Last commands:", *items]) if items else ""


def _extract_text(session: Session, row: Entry) -> str:
    message = session.read_body(row).get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = (block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str)).strip()


def _shorten_to_line(text: str, size: int) -> str:
    return shorten_middle(" ".join(text.split()), size)


def _format_times(number: int, word: str) -> str:
    return f"{word} {number} time{'' if number == 1 else 's'}"
