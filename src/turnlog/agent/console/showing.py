"""What a person sees of a turn: the model's words as they come, each call, and what came of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from turnlog.agent.calls import REJECTED
from turnlog.agent.console.difference import difference
from turnlog.agent.console.screen import Screen
from turnlog.agent.events import (
    CallEnded,
    CallProgress,
    CallStarted,
    Compacted,
    Event,
    Said,
    Streamed,
    TurnEnded,
    Warned,
)
from turnlog.agent.record.lines import text_of
from turnlog.model.events import BlockStarted, Retrying, TextPart
from turnlog.render.figures import count, duration, size, thousands
from turnlog.render.terminal import Screen as Look
from turnlog.render.terminal import first_lines, line, visible
from turnlog.session.files.patches import recorded

Object = Mapping[str, Any]

SHOWN = 5
"""Lines of a result."""
_LONGEST = 400
# The fields that say best what a call is about, in this order.
_TELLING = ("command", "file_path", "notebook_path", "pattern", "url", "query", "description", "bash_id", "shell_id")
_MARKS = {"completed": "[x]", "in_progress": "[>]"}
_ASKING = frozenset({"AskUserQuestion", "ExitPlanMode"})
"""Their question is what is seen of them."""
_SUMMARY = re.compile("<summary>(.*?)</summary>", re.DOTALL)
_ERROR_TAGS = ("<tool_use_error>", "</tool_use_error>")


class Showing:
    """Shows a turn; watches the loop."""

    def __init__(self, screen: Screen, cwd: str = "") -> None:
        self._screen = screen
        self._cwd = cwd
        self._call = ""
        """The call whose line stands at the end."""
        self._agents: dict[str, str] = {}
        """What the sub-agents that are at work are to do, by their calls."""
        self._noticed: set[str] = set()
        """Ends of commands that were shown before the model was told of them."""

    @property
    def _look(self) -> Look:
        return self._screen.look

    def watch(self, event: Event) -> None:
        """Show what happens."""
        if isinstance(event, Streamed):
            self._streamed(event)
        elif isinstance(event, CallStarted):
            self._started(event)
        elif isinstance(event, CallProgress):
            self._progress(event.data)
        elif isinstance(event, CallEnded):
            self._ended(event)
        elif isinstance(event, Said):
            self._said(event.entry)
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
            self._screen.begin()
            if event.block.get("type") in ("thinking", "redacted_thinking"):
                self._note("thinking", "dim")
        elif isinstance(event, Retrying):
            self._screen.finish()

    def _started(self, event: CallStarted) -> None:
        if event.name in _ASKING:
            return
        if event.name == "Task":
            self._agents[event.call] = line(str(event.given.get("description") or "")[:_LONGEST])
        self._call = event.call
        self._screen.say(self._head(event))

    def _head(self, event: CallStarted | CallEnded) -> str:
        look, name = self._look, visible(event.name)
        gist = about(event.given, self._cwd)
        if event.agent is None:
            return f"● {look.paint(name, 'bold')} {look.fit(gist, len(name) + 4)}"
        whose = f"{self._agents.get(event.agent, '')} · " if len(self._agents) > 1 else ""
        return f"  ┆ {look.paint(look.fit(f'{whose}{name} {gist}', 5), 'dim')}"

    def _progress(self, data: Object) -> None:
        seconds = data.get("elapsedTimeSeconds")
        if isinstance(seconds, int):
            _, _, last = str(data.get("output") or "").rpartition("\n")
            self._screen.news(" · ".join(filter(None, (f"  {seconds} s", line(last[:_LONGEST])))))

    def _ended(self, event: CallEnded) -> None:
        self._agents.pop(event.call, None)
        if (event.agent is not None or event.name in _ASKING) and not event.result.is_error:
            return
        if self._call != event.call:
            self._screen.say(self._head(event))
        self._call = ""
        self._screen.say(*(f"  {text}" for text in outcome(event, self._look)))

    def _said(self, entry: Object) -> None:
        """Of what the client tells the model, people want to know which commands in the background have ended."""
        message = entry.get("message")
        content = message.get("content") if isinstance(message, Mapping) and entry.get("isMeta") else None
        if isinstance(content, str) and content.startswith("<task-notification>"):
            self.notice(content)

    def notice(self, text: str) -> None:
        """Show that a command in the background has ended; each time once."""
        if text not in self._noticed:
            self._noticed.add(text)
            found = _SUMMARY.search(text)
            self._note(line(found[1][:_LONGEST]) if found else "a command in the background has ended", "cyan")

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
    if structured == REJECTED:
        yield look.paint("not done", "yellow")
    elif event.result.is_error:
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
        yield from (look.paint(look.fit(part, 4), "dim") for part in _plain(event, facts))


def _plain(event: CallEnded, facts: Object) -> list[str]:
    """The beginning of a text, and what else is known of it."""
    took = f" ({duration(event.milliseconds)})" if event.milliseconds >= 10_000 else ""
    if path := facts.get("persistedOutputPath"):
        shown, _ = first_lines(str(facts.get("stdout") or ""), SHOWN, _LONGEST)
        return [*shown, f"… all of it ({size(int(facts.get('persistedOutputSize') or 0))}){took}: {line(str(path))}"]
    if isinstance(uses := facts.get("totalToolUseCount"), int):
        report = "\n".join(str(block.get("text")) for block in facts.get("content") or ())
        used = int(facts.get("totalTokens") or 0)
        return [*_first(report), f"{count(uses, 'call')}, {thousands(used)} tokens{took}"]
    return _first(text_of(event.result.content) or "(no output)", took)


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


def _compacted(event: Compacted) -> str:
    if event.trigger == "micro":
        return f"old results are no longer sent (the window had {thousands(event.before)} tokens)"
    return f"the conversation was replaced by a summary (it had {thousands(event.before)} tokens); it stays in the file"
