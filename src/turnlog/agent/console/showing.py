"""What a person sees of a turn: the model's words as they come, each call, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from turnlog.agent.console.screen import Screen
from turnlog.agent.events import CallEnded, CallStarted, Compacted, Event, Streamed, TurnEnded, Warned
from turnlog.agent.record.lines import text_of
from turnlog.model.events import BlockStarted, Retrying, TextPart
from turnlog.render.figures import count, duration, thousands
from turnlog.render.terminal import Screen as Look
from turnlog.render.terminal import cut, first_lines, line, visible
from turnlog.session.patches import Hunk, recorded

Object = Mapping[str, Any]

SHOWN = 5
"""Lines of a result."""
LONGEST_DIFF = 60
_LONGEST = 400
# The fields that say best what a call is about, in this order.
_TELLING = ("command", "file_path", "notebook_path", "pattern", "url", "query", "description", "bash_id", "shell_id")
_MARKS = {"completed": "[x]", "in_progress": "[>]"}
_ERROR_TAGS = ("<tool_use_error>", "</tool_use_error>")


class Showing:
    """Shows a turn; watches the loop."""

    def __init__(self, screen: Screen, cwd: str = "") -> None:
        self._screen = screen
        self._look = screen.look
        self._cwd = cwd
        self._call = ""
        """The call whose line stands at the end."""

    def watch(self, event: Event) -> None:
        """Show what happens."""
        if isinstance(event, Streamed):
            self._streamed(event)
        elif isinstance(event, CallStarted):
            self._started(event)
        elif isinstance(event, CallEnded):
            self._ended(event)
        elif isinstance(event, Compacted):
            self._note(_compacted(event), "cyan")
        elif isinstance(event, Warned):
            self._note(line(event.text[:_LONGEST]), "yellow")
        elif isinstance(event, TurnEnded):
            self._over(event)

    def _streamed(self, streamed: Streamed) -> None:
        if streamed.agent is not None:
            return
        event = streamed.event
        if isinstance(event, TextPart):
            self._call = ""
            self._screen.part(event.text)
        elif isinstance(event, BlockStarted):
            self._screen.finish()
            if event.block.get("type") in ("thinking", "redacted_thinking"):
                self._note("thinking", "dim")
        elif isinstance(event, Retrying):
            self._screen.finish()

    def _started(self, event: CallStarted) -> None:
        self._call = event.call
        self._screen.say(self._head(event))

    def _head(self, event: CallStarted | CallEnded) -> str:
        look, inner = self._look, event.agent is not None
        gist = look.fit(about(event.given, self._cwd), len(event.name) + (6 if inner else 4))
        name = visible(event.name)
        return f"  ┆ {look.paint(f'{name} {gist}', 'dim')}" if inner else f"● {look.paint(name, 'bold')} {gist}"

    def _ended(self, event: CallEnded) -> None:
        if event.agent is not None and not event.result.is_error:
            return
        if self._call != event.call:
            self._screen.say(self._head(event))
        self._call = ""
        self._screen.say(*(f"  {text}" for text in outcome(event, self._look)))

    def _over(self, event: TurnEnded) -> None:
        self._screen.finish()
        if event.reason == "interrupted":
            self._note("interrupted; say what should be done instead", "yellow")
        elif event.reason != "finished":
            self._note(line(event.text[:_LONGEST]), "red")

    def _note(self, text: str, style: str) -> None:
        self._screen.say(self._look.paint(f"· {text}", style))


def about(given: Object, cwd: str = "") -> str:
    """What a call is about, on one line."""
    if isinstance(todos := given.get("todos"), list):
        return count(len(todos), "item")
    name = next((name for name in _TELLING if isinstance(given.get(name), str) and given[name]), None)
    if name is None:
        return line(", ".join(f"{key}={_short(value)}" for key, value in list(given.items())[:8]))
    text = str(given[name])
    if cwd and text.startswith(cwd + "/"):
        text = text[len(cwd) + 1 :]
    where = given.get("path") if name == "pattern" else None
    first, _, more = text.strip().partition("\n")
    told = line(first[:_LONGEST]) + (f" (+{count(more.count(chr(10)) + 1, 'line')})" if more else "")
    return f"{told} in {line(where)}" if isinstance(where, str) and where else told


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:59] + "…"


def outcome(event: CallEnded, look: Look) -> Iterator[str]:
    """What came of a call."""
    structured = event.result.structured
    facts = structured if isinstance(structured, dict) else {}
    text = text_of(event.result.content)
    if event.result.is_error:
        yield from (look.paint(look.fit(part, 4), "red") for part in _first(_untagged(text)))
    elif hunks := recorded(facts.get("structuredPatch")):
        yield from difference(hunks, look)
    elif facts.get("type") == "create" and isinstance(content := facts.get("content"), str):
        yield look.paint(f"created, {count(len(content.splitlines()), 'line')}", "dim")
    elif event.name == "TodoWrite":
        yield from _todos(event.given)
    elif isinstance(file := facts.get("file"), dict) and isinstance(number := file.get("numLines"), int):
        yield look.paint(count(number, "line"), "dim")
    else:
        took = f" ({duration(event.milliseconds)})" if event.milliseconds >= 10_000 else ""
        yield from (look.paint(look.fit(part, 4), "dim") for part in _first(text or "(no output)", took))


def _first(text: str, more: str = "") -> list[str]:
    shown, left = first_lines(text, SHOWN, _LONGEST)
    return [*shown, *([f"… {count(left, 'more line')}{more}"] if left else [])]


def _untagged(text: str) -> str:
    return text.removeprefix(_ERROR_TAGS[0]).removesuffix(_ERROR_TAGS[1])


def _todos(given: Object) -> Iterator[str]:
    todos = given.get("todos")
    for todo in todos if isinstance(todos, list) else []:
        if isinstance(todo, Mapping):
            yield f"{_MARKS.get(str(todo.get('status')), '[ ]')} {line(str(todo.get('content') or '')[:_LONGEST])}"


def difference(hunks: tuple[Hunk, ...], look: Look, longest: int | None = LONGEST_DIFF) -> Iterator[str]:
    """The lines of a diff, with their numbers; those that come are green, those that go red."""
    rows = [row for number, hunk in enumerate(hunks) for row in _rows(hunk, is_first=number == 0)]
    kept = rows if longest is None else rows[:longest]
    wide = max((len(str(number)) for _, number, _ in kept if number), default=0)
    for sign, number, text in kept:
        told = f"{number or '':>{wide}} {sign} {visible(text.rstrip(chr(13)).expandtabs(4))}"
        if longest is not None:
            told = cut(told, max((look.width or _LONGEST) - 4, 10))
        yield look.paint(told, *{"+": ("green",), "-": ("red",)}.get(sign, ("dim",)))
    if len(rows) > len(kept):
        yield look.paint(f"… {count(len(rows) - len(kept), 'more line')}", "dim")


def _rows(hunk: Hunk, *, is_first: bool) -> Iterator[tuple[str, int | None, str]]:
    if not is_first:
        yield "…", None, ""
    old, new = hunk.old_start, hunk.new_start
    for text in hunk.lines:
        sign = text[0]
        if sign == "\\":
            yield "\\", None, text[2:]
            continue
        yield sign, old if sign == "-" else new, text[1:]
        old, new = old + (sign != "+"), new + (sign != "-")


def _compacted(event: Compacted) -> str:
    if event.trigger == "micro":
        return f"old results are no longer sent (the window had {thousands(event.before)} tokens)"
    return f"the conversation was replaced by a summary (it had {thousands(event.before)} tokens); it stays in the file"
