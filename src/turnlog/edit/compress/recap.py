"""A summary of a conversation without a model: what was asked, which files were touched, what was run and answered.

It is an outline taken from the session word for word, and says so. What was decided, and why, it can't tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from turnlog.edit.compress.extract import extract
from turnlog.edit.strip.said import shortened
from turnlog.entries.entry import Entry
from turnlog.session.calls import inputs
from turnlog.session.files.files import touched
from turnlog.session.resume.additions import FILLER
from turnlog.session.session import Session
from turnlog.session.turns import Turn
from turnlog.session.usage.prices import SYNTHETIC

NOTE = (
    "This outline was taken from the session word for word, without a model. It tells what was said and done, not why."
)
PROMPT, ANSWER, LAST, COMMAND, EARLIER = 600, 400, 2_000, 160, 6_000
"""Characters that are shown of each prompt, answer, the last answer, a command, and an earlier summary."""
COMMANDS = 20
_RUNS = frozenset({"Bash", "PowerShell"})


def recap(session: Session, rows: Sequence[Entry]) -> str:
    """The outline of some rows."""
    parts = [NOTE, _earlier(session, rows), _talk(session, rows), _files(session, rows), _commands(session, rows)]
    return "\n\n".join(filter(None, parts))


def _earlier(session: Session, rows: Sequence[Entry]) -> str:
    """What an earlier compaction has summed up."""
    texts = (_text(session, row) for row in rows if row.is_compact_summary)
    text = next(filter(None, texts), "").partition("Summary:\n")
    found = text[2] or text[0]
    return f"Before that (from an earlier summary):\n{shortened(found, EARLIER)}" if found else ""


def _talk(session: Session, rows: Sequence[Entry]) -> str:
    """What was asked and answered, turn by turn."""
    turns: dict[int, tuple[Turn, list[Entry]]] = {}
    for row in rows:
        if (turn := session.turn_of(row)) is not None:
            turns.setdefault(turn.number, (turn, []))[1].append(row)
    last = max(turns, default=0)
    lines = (line for turn, own in turns.values() for line in _turn(session, turn, own, is_last=turn.number == last))
    text = "\n".join(lines)
    return f"What was asked and answered:\n{text}" if text else ""


def _turn(session: Session, turn: Turn, rows: Sequence[Entry], *, is_last: bool) -> Iterator[str]:
    yield f"{turn.number}. {_asked_by(turn)}: {_line(turn.text, PROMPT)}"
    yield from (f"   Also: {_line(text, PROMPT)}" for text in turn.further)
    answers = (
        _text(session, row) for row in reversed(rows) if row.type == "assistant" and not _is_filler(session, row)
    )
    answer = next(filter(None, answers), "")
    if answer and is_last:
        yield f"   Answered:\n{shortened(answer, LAST)}"
    elif answer:
        found = extract(answer, ANSWER) if len(answer) > ANSWER else None
        yield f"   Answered: {_line(found.text if found else answer, ANSWER * 2)}"


def _asked_by(turn: Turn) -> str:
    """How a turn's beginning is headed: only what a person said was asked."""
    if turn.prompt.is_typed:
        return "Asked"
    if turn.kind == "notification":
        return "A background task reported"
    return f"Message from {turn.speaker.name or 'another agent'} (not the user)"


def _is_filler(session: Session, row: Entry) -> bool:
    is_made_up = row.message is not None and row.message.model == SYNTHETIC and not row.is_api_error_message
    return is_made_up and _text(session, row) == FILLER


def _files(session: Session, rows: Sequence[Entry]) -> str:
    lines = {row.index for row in rows}
    found = touched(session.file, [call for call in session.calls if call.line.index in lines])
    told = [f"- {file.path}: {_times(file.reads, 'read')}, {_times(file.writes, 'changed')}" for file in found]
    return "\n".join(["Files:", *told]) if told else ""


def _commands(session: Session, rows: Sequence[Entry]) -> str:
    lines = {row.index for row in rows}
    calls = [call for call in session.calls if call.name in _RUNS and call.line.index in lines][-COMMANDS:]
    told = [
        f"- {_line(command, COMMAND)}{' (failed)' if call.is_error else ''}"
        for call, given in zip(calls, inputs(session.file, calls), strict=True)
        if isinstance(given, dict) and isinstance(command := given.get("command"), str)
    ]
    return "\n".join(["Last commands:", *told]) if told else ""


def _text(session: Session, row: Entry) -> str:
    message = session.body(row).get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = (block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str)).strip()


def _line(text: str, size: int) -> str:
    return shortened(" ".join(text.split()), size)


def _times(number: int, word: str) -> str:
    return f"{word} {number} time{'' if number == 1 else 's'}"
