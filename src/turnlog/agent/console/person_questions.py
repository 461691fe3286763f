"""Asks a person during a turn to permit a call or to answer the model's questions.

A call is shown exactly as it would run: characters that a terminal would interpret or hide are escaped. Only a change
of a file that exceeds the window is folded, and the question says how many lines that leaves out and how to see them.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from turnlog.agent.permissions.decision import Decision
from turnlog.agent.person import PermissionAnswer
from turnlog.agent.tools import edit, write
from turnlog.agent.tools.call_result import ToolError, Workspace
from turnlog.agent.tools.seen_files import locate_file
from turnlog.render.diff_lines import render_diff_lines, wrap_to_cells
from turnlog.render.figures import format_count
from turnlog.render.terminal import TerminalScreen as Look
from turnlog.render.terminal import make_visible, to_visible_line, wrap_words
from turnlog.session.files.patches import Hunk, compare_texts

Object = Mapping[str, Any]
Ask = Callable[[str], str | None]
"""Asks for a line; returns None if the person cancels."""

_MAX_DIFF_FILE_BYTES = 4 << 20
_MAX_LINE_CELLS = 10_000
_BAR_CELLS = 5
_CHOICE_CELLS = 5
"""Where the text of an answer begins, behind its key."""
_QUESTION_ROWS = 12
"""The rows of a window that the rest of a question may need."""
_MIN_SHOWN_ROWS = 8
_LETTERS_BY_ANSWER = {
    "y": "y",
    "yes": "y",
    "s": "s",
    "session": "s",
    "a": "a",
    "always": "a",
    "e": "e",
    "edit": "e",
    "v": "v",
    "view": "v",
    "n": "n",
    "no": "n",
}
_MAX_MISTYPED_CHARS = 3
"""A shorter answer that is not valid counts as a typo, and the question is asked again."""


# -- permission for a call


def render_permission_question(
    name: str,
    arguments: Object,
    decision: Decision,
    place: Workspace,
    look: Look,
    agent: str | None,
    height: int | None = None,
) -> Iterator[str]:
    """Render a call, the reason for asking, and the possible answers; fold a change that exceeds the height."""
    who = "A sub-agent wants" if agent else "The model wants"
    yield look.paint(f"{who} to use {make_visible(name)}:", "yellow")
    shown, hidden = split_call(name, arguments, place, look, height)
    yield from shown
    if hidden:
        yield look.paint(f"  │ … {format_count(len(hidden), 'more line')}: v shows them", "cyan")
    if decision.reason:
        yield from (look.paint(row, "dim") for row in wrap_choice(f"  {to_visible_line(decision.reason)}", look, 2))
    yield "  y  yes, this once"
    if decision.suggested:
        file = place.root / ".claude" / "settings.local.json"
        rules = ", ".join(map(to_visible_line, decision.suggested))
        yield from wrap_choice(f"  s  for this session: allows {rules} until you exit", look)
        yield from wrap_choice(f"  a  always: adds {rules} to {to_visible_line(str(file))}", look)
    if hidden:
        yield "  v  view the rest of the change"
    yield "  n  no (or type what to do instead)"


def split_call(
    name: str, arguments: Object, place: Workspace, look: Look, height: int | None
) -> tuple[list[str], list[str]]:
    """Render a call, and split it into what a question shows and what it folds: only changes of files are folded."""
    rows = list(add_side_bar(render_whole_call(name, arguments, place, look)))
    room = max((height or 0) - _QUESTION_ROWS, _MIN_SHOWN_ROWS)
    is_folded = height is not None and name in _FILE_CHANGING_TOOLS and len(rows) > room + 1
    return (rows[:room], rows[room:]) if is_folded else (rows, [])


def add_side_bar(texts: Iterable[str]) -> Iterator[str]:
    """Put a bar before untrusted lines so that they can't be mistaken for the answers below them."""
    return (f"  │ {text}" for text in texts)


def render_whole_call(name: str, arguments: Object, place: Workspace, look: Look) -> Iterator[str]:
    """Render a complete call in lines that fit the terminal; a line wrapped by the terminal would lack the bar."""
    room = max((look.width or _MAX_LINE_CELLS) - _BAR_CELLS, _BAR_CELLS)
    if name == "Bash" and isinstance(command := arguments.get("command"), str):
        yield from _wrap_visible_text(command, room)
        rest = {key: value for key, value in arguments.items() if key != "command"}
    elif name in _FILE_CHANGING_TOOLS:
        path = Path(str(arguments.get("file_path") or arguments.get("notebook_path")))
        with contextlib.suppress(ToolError):
            path = locate_file(str(path), place)
        hunks = preview_change(name, arguments, path)
        yield from _wrap_visible_text(str(path), room)
        yield from render_diff_lines(hunks, look, None)
        rest = {key: value for key, value in arguments.items() if key not in _FIELDS_IN_DIFF}
    else:
        rest = dict(arguments)
    for key, value in rest.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        first, *further = _wrap_visible_text(f"{key}: {text}", room - 4)
        yield first
        yield from (f"    {part}" for part in further)


_FILE_CHANGING_TOOLS = frozenset({"Edit", "NotebookEdit", "Write"})
_FIELDS_IN_DIFF = frozenset({"file_path", "notebook_path", "old_string", "new_string", "content", "new_source"})


def _wrap_visible_text(text: str, room: int) -> list[str]:
    return [row for part in text.split("\n") for row in wrap_to_cells(make_visible(part), room)]


def preview_change(name: str, arguments: Object, path: Path) -> tuple[Hunk, ...]:
    """Preview the change that a call makes to a file."""
    if name == "NotebookEdit":
        return compare_texts("", str(arguments.get("new_source") or ""))
    try:
        before = (
            write.load_existing_file(path) if not path.exists() or path.stat().st_size <= _MAX_DIFF_FILE_BYTES else None
        )
        preview = edit.preview_edit if name == "Edit" else write.preview_write
        after = preview(before, arguments, path)
    except (ToolError, OSError, ValueError):  # the call will fail, but the person still sees what it asks for
        return compare_texts(
            str(arguments.get("old_string") or ""), str(arguments.get("new_string", arguments.get("content")) or "")
        )
    return compare_texts(before.written if before else "", after)


def wrap_choice(text: str, look: Look, indent: int = _CHOICE_CELLS) -> list[str]:
    """Wrap a line of a question between words, below the place where its text begins."""
    return [text] if look.width is None else wrap_words(text, look.width - 1, indent)


def ask_permission(decision: Decision, ask: Ask, view: Callable[[], None] | None = None) -> PermissionAnswer:
    """Ask for permission; cancelling the question means no. `view` shows what the question folds."""
    letters = ("ysa" if decision.suggested else "y") + ("v" if view is not None else "")
    while True:
        letter, instructions = ask_consent(ask, "allow?", letters) or ("n", "")
        if letter != "v" or view is None:
            break
        view()
        letters = letters.removesuffix("v")
    if letter == "y":
        return PermissionAnswer("once")
    if letter == "s":
        return PermissionAnswer("session")
    return PermissionAnswer("always") if letter == "a" else PermissionAnswer("no", instructions)


def ask_consent(ask: Ask, question: str, letters: str) -> tuple[str, str] | None:
    """Return the letter of the answer (with the person's text if it is `n`), or None if they cancel.

    Only the bare word counts as a yes, since additional words may change the meaning.
    """
    while True:
        answer = ask(f"  {question} [{'/'.join(f'{letters}n')}] ")
        if answer is None:
            return None
        word, _, rest = answer.strip().partition(" ")
        letter = _LETTERS_BY_ANSWER.get(word.lower(), "")
        if letter == "n":
            return "n", rest.strip()
        if letter and letter in letters and not rest:
            return letter, ""
        if len(answer.strip()) > _MAX_MISTYPED_CHARS:
            return "n", answer.strip()


# -- questions from the model


def ask_questions(arguments: Object, ask: Ask, say: Callable[..., None], look: Look) -> Object | None:
    """Ask the model's questions and return the answers by question, or None if the person cancels."""
    answers: dict[str, str] = {}
    questions = arguments.get("questions")
    for question in questions if isinstance(questions, list) else []:
        if not isinstance(question, Mapping):
            continue
        answer = _ask_question(question, ask, say, look)
        if answer is None:
            return None
        answers[str(question.get("question"))] = answer
    return {"answers": answers}


def _ask_question(question: Object, ask: Ask, say: Callable[..., None], look: Look) -> str | None:
    listed = question.get("options")
    options = [option for option in listed if isinstance(option, Mapping)] if isinstance(listed, list) else []
    many = question.get("multiSelect") is True
    asked = wrap_choice(to_visible_line(str(question.get("question"))), look, 0)
    say(*(look.paint(row, "yellow") for row in asked))
    for number, option in enumerate(options, 1):
        label = to_visible_line(str(option.get("label")))
        description = to_visible_line(str(option.get("description") or ""))
        first, *rest = wrap_choice(f"  {number}  {label}{f' · {description}' if description else ''}", look)
        say(first.replace(label, look.paint(label, "bold"), 1) if label in first else first, *rest)
    hint = "numbers" if many else "a number"
    while True:
        answer = ask(f"  {hint}, or your own answer: ")
        if answer is None:
            return None
        if chosen := _parse_choice(answer, options, many=many):
            return ", ".join(chosen)
        if answer.strip() and not answer.replace(",", " ").replace(" ", "").isdecimal():
            return answer.strip()


def _parse_choice(answer: str, options: list[Object], *, many: bool) -> list[str]:
    numbers = answer.replace(",", " ").split()
    if not numbers or not all(number.isdecimal() and 1 <= int(number) <= len(options) for number in numbers):
        return []
    if len(numbers) > 1 and not many:
        return []
    return [str(options[int(number) - 1].get("label")) for number in dict.fromkeys(numbers)]
