"""A call in one line: what it was about, and what came of it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from turnlog.cli.terminal import first_lines, lines, visible
from turnlog.render.figures import count
from turnlog.session.calls import Detail
from turnlog.session.failures import plain

LONGEST = 300
"""So many characters of a first line are shown, however wide the terminal."""

# The fields that say best what a call is about, in this order.
_TELLING = (
    "command", "file_path", "notebook_path", "pattern", "url", "query", "subject", "description", "skill", "plan",
    "message", "prompt", "path",
)  # fmt: skip
_WORDS = {
    "unanswered": "no result",
    "denied": "denied",
    "interrupted": "interrupted",
    "launched": "goes on in the background",
    "error": "failed",
}
_USER_SAID = "the user said:"
_REJECTED = "The user doesn't want to"
BAD = frozenset({"error", "denied", "interrupted"})


class Result(NamedTuple):
    """What came of a call."""

    text: str
    is_bad: bool


def asked(given: Any, cwd: str | None = None) -> str:
    """What a call was about: its command, file, pattern or address, on one line."""
    if not isinstance(given, dict):
        return "" if given is None else first_line(_compact(given))
    if isinstance(questions := given.get("questions"), list) and questions:
        given = questions[0] if isinstance(questions[0], dict) else given
        return first_line(str(given.get("question", "")))
    if isinstance(todos := given.get("todos"), list):
        return f"{len(todos)} items"
    name = next((name for name in _TELLING if isinstance(given.get(name), str) and given[name]), None)
    if name is None:
        return first_line(", ".join(f"{key}={_short(value)}" for key, value in given.items()))
    text = first_line(_inside(given[name], cwd))
    if name == "pattern" and isinstance(given.get("path"), str):
        text += f" in {visible(_inside(given['path'], cwd))}"
    return text


def asked_in_full(given: Any) -> list[str]:
    """Everything that a call was given."""
    if not isinstance(given, dict):
        return lines(_compact(given))
    found: list[str] = []
    for name, value in given.items():
        text = lines(value if isinstance(value, str) else _compact(value))
        found += [f"{visible(name)}: {text[0]}"] if len(text) == 1 else [f"{visible(name)}:", *indented(text)]
    return found


def indented(texts: list[str], by: str = "  ") -> list[str]:
    """Lines moved to the right."""
    return [by + text for text in texts]


def answered(detail: Detail) -> Result:
    """What came of a call, on one line."""
    text = plain(detail.result)
    words = _WORDS.get(detail.outcome, "")
    if detail.outcome == "launched" and detail.background_id:
        words += f" ({visible(detail.background_id)})"
    if not words:
        words = _counted(detail.structured)
    if not words and detail.persisted:
        words = f"too long for the transcript, kept in {visible(detail.persisted)}"
    if not words or detail.outcome in ("error", "denied"):
        said = first_line(_objection(text) if detail.outcome == "denied" else _worded(text))
        words = f"{words}: {said}" if words and said else words or said or "nothing"
    return Result(words, detail.outcome in BAD)


def answered_in_full(detail: Detail) -> list[str]:
    """The whole result of a call."""
    return lines(plain(detail.result)) if detail.result is not None else []


def first_line(text: str) -> str:
    """The first line that says something, and how many more there are."""
    (first,), more = first_lines(text.strip(), 1, LONGEST)
    return f"{first.strip()} (+{count(more, 'line')})" if more else first.strip()


def _objection(text: str) -> str:
    """What a person, a rule or a hook had against a call, without the client's own sentence around it."""
    if (at := text.find(_USER_SAID)) >= 0:
        return text[at + len(_USER_SAID) :].strip()
    return "" if text.startswith(_REJECTED) else _worded(text)


def _worded(text: str) -> str:
    """The words of a result: without tags around them, and with what a failed command said last at its front."""
    text = text.strip().removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    if not text.startswith("Exit code "):
        return text
    first, _, rest = text.partition("\n")
    before, _, last = rest.rstrip().rpartition("\n")
    return f"{first.lower()}: {last.strip()}\n{before}" if last else first.lower()


def _counted(structured: Any) -> str:
    """What the client's own record of a result says in numbers, where that tells more than its first line."""
    if not isinstance(structured, dict):
        return ""
    patch, file = structured.get("structuredPatch"), structured.get("file")
    if isinstance(patch, list) and patch:
        signs = [str(row)[:1] for hunk in patch if isinstance(hunk, dict) for row in _rows(hunk.get("lines"))]
        return f"{signs.count('+')} added, {signs.count('-')} removed"
    if structured.get("type") == "create" and isinstance(content := structured.get("content"), str):
        return f"created, {count(len(content.splitlines()), 'line')}"
    if isinstance(file, dict) and isinstance(number := file.get("numLines"), int):
        return count(number, "line")
    return ""


def _rows(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _inside(path: str, cwd: str | None) -> str:
    """A path as seen from the working folder."""
    if cwd and len(path) > len(cwd) + 1 and path.startswith(cwd) and path[len(cwd)] in "/\\":
        return path[len(cwd) + 1 :]
    return path


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else _compact(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
