"""What a person is asked in the middle of a turn: leave for a call, questions of the model, a plan.

A call is shown exactly as it would be made: every character that a terminal would act on or not show is spelled out,
and nothing is left out, however long it is.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from turnlog.agent.console.difference import difference, rows
from turnlog.agent.permissions.decision import Decision
from turnlog.agent.person import Leave
from turnlog.agent.tools import edit, write
from turnlog.agent.tools.files import located
from turnlog.agent.tools.tool import Place, ToolError
from turnlog.render.terminal import Screen as Look
from turnlog.render.terminal import line, visible
from turnlog.session.files.patches import Hunk, compared

Object = Mapping[str, Any]
Ask = Callable[[str], str | None]
"""Asks for a line; None if the person turns away."""

_LARGEST = 4 << 20
_WIDEST = 10_000
_BAR = 5
_LETTERS = {"y": "y", "yes": "y", "a": "a", "always": "a", "n": "n", "no": "n"}
_SLIP = 3
"""What is no longer than this and no answer was mistyped, and is asked again."""


# -- leave for a call


def wanted(name: str, given: Object, decision: Decision, place: Place, look: Look, agent: str | None) -> Iterator[str]:
    """What the person has to know before they say yes."""
    who = "A sub-agent wants" if agent else "The model wants"
    yield look.paint(f"{who} to use {visible(name)}:", "yellow")
    yield from barred(exactly(name, given, place, look))
    if decision.reason:
        yield look.paint(f"  {line(decision.reason)}", "dim")
    yield "  y  yes, this once"
    if decision.suggested:
        file = place.root / ".claude" / "settings.local.json"
        yield f"  a  always: adds {', '.join(map(line, decision.suggested))} to {line(str(file))}"
    yield "  n  no; or say what should be done instead"


def barred(texts: Iterable[str]) -> Iterator[str]:
    """Lines of a stranger behind a bar, which shows where they end: they could look like what stands below."""
    return (f"  │ {text}" for text in texts)


def exactly(name: str, given: Object, place: Place, look: Look) -> Iterator[str]:
    """A call, whole; no line is longer than the terminal, which would go on without the bar."""
    room = max((look.width or _WIDEST) - _BAR, _BAR)
    if name == "Bash" and isinstance(command := given.get("command"), str):
        yield from _spelled(command, room)
        rest = {key: value for key, value in given.items() if key != "command"}
    elif name in _CHANGING:
        path = Path(str(given.get("file_path") or given.get("notebook_path")))
        with contextlib.suppress(ToolError):
            path = located(str(path), place)
        hunks = change(name, given, path)
        yield from _spelled(str(path), room)
        yield from difference(hunks, look, None)
        rest = {key: value for key, value in given.items() if key not in _SHOWN_BY_DIFF}
    else:
        rest = dict(given)
    for key, value in rest.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        first, *further = _spelled(f"{key}: {text}", room - 4)
        yield first
        yield from (f"    {part}" for part in further)


_CHANGING = frozenset({"Edit", "NotebookEdit", "Write"})
_SHOWN_BY_DIFF = frozenset({"file_path", "notebook_path", "old_string", "new_string", "content", "new_source"})


def _spelled(text: str, room: int) -> list[str]:
    return [row for part in text.split("\n") for row in rows(visible(part), room)]


def change(name: str, given: Object, path: Path) -> tuple[Hunk, ...]:
    """What a call would make of a file."""
    if name == "NotebookEdit":
        return compared("", str(given.get("new_source") or ""))
    try:
        before = write.standing(path) if not path.exists() or path.stat().st_size <= _LARGEST else None
        after = (edit if name == "Edit" else write).foreseen(before, given, path)
    except (ToolError, OSError, ValueError):  # it will come to nothing; what was wanted is seen nevertheless
        return compared(str(given.get("old_string") or ""), str(given.get("new_string", given.get("content")) or ""))
    return compared(before.written if before else "", after)


def leave(decision: Decision, ask: Ask) -> Leave:
    """What the person says to it; whoever turns away says no."""
    letter, words = _consent(ask, "allow?", "ya" if decision.suggested else "y") or ("n", "")
    if letter == "n":
        return Leave("no", words)
    return Leave("once" if letter == "y" else "always")


def _consent(ask: Ask, question: str, letters: str) -> tuple[str, str] | None:
    """The letter that stands for what is said, `n` with the words for it; None if the person turns away.

    Only the plain word is a yes: with more words it is about something else.
    """
    while True:
        said = ask(f"  {question} [{'/'.join(f'{letters}n')}] ")
        if said is None:
            return None
        word, _, rest = said.strip().partition(" ")
        letter = _LETTERS.get(word.lower(), "")
        if letter == "n":
            return "n", rest.strip()
        if letter and letter in letters and not rest:
            return letter, ""
        if len(said.strip()) > _SLIP:
            return "n", said.strip()


# -- questions of the model


def answers(given: Object, ask: Ask, say: Callable[..., None], look: Look) -> Object | None:
    """What the person says to the questions of the model, by question; None if they turn away."""
    found: dict[str, str] = {}
    questions = given.get("questions")
    for question in questions if isinstance(questions, list) else []:
        if not isinstance(question, Mapping):
            continue
        said = _answer(question, ask, say, look)
        if said is None:
            return None
        found[str(question.get("question"))] = said
    return {"answers": found}


def _answer(question: Object, ask: Ask, say: Callable[..., None], look: Look) -> str | None:
    given = question.get("options")
    options = [option for option in given if isinstance(option, Mapping)] if isinstance(given, list) else []
    many = question.get("multiSelect") is True
    say(look.paint(line(str(question.get("question"))), "yellow"))
    for number, option in enumerate(options, 1):
        told = line(str(option.get("description") or ""))
        say(f"  {number}  {look.paint(line(str(option.get('label'))), 'bold')}{f' · {told}' if told else ''}")
    hint = "numbers" if many else "a number"
    while True:
        said = ask(f"  {hint}, or your own words: ")
        if said is None:
            return None
        if chosen := _chosen(said, options, many=many):
            return ", ".join(chosen)
        if said.strip() and not said.replace(",", " ").replace(" ", "").isdecimal():
            return said.strip()


def _chosen(said: str, options: list[Object], *, many: bool) -> list[str]:
    words = said.replace(",", " ").split()
    if not words or not all(word.isdecimal() and 1 <= int(word) <= len(options) for word in words):
        return []
    if len(words) > 1 and not many:
        return []
    return [str(options[int(word) - 1].get("label")) for word in dict.fromkeys(words)]


def plan(given: Object, ask: Ask, say: Callable[..., None], look: Look) -> Object | None:
    """Whether the person agrees with a plan, and how the work goes on; None if they turn away."""
    room = max((look.width or _WIDEST) - _BAR, _BAR)
    say(look.paint("The plan:", "yellow"), *barred(_spelled(str(given.get("plan") or ""), room)))
    say("  y  go ahead, and ask before each change", "  a  go ahead, and change files without asking")
    say("  n  keep planning; or say what should be different")
    consent = _consent(ask, "go ahead?", "ya")
    if consent is None:
        return None
    letter, words = consent
    if letter == "n":
        return {"approved": False, "words": words}
    return {"approved": True, "mode": "acceptEdits" if letter == "a" else "default"}
