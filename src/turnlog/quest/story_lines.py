"""Game events as lines of text, for screen readers, pipes, and everyone who would rather read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turnlog.quest.game_event import GameEvent

MAX_LINE_TEXT_CHARS = 160
_MAX_NAME_CHARS = 60
_LEVELS = {"think": " (think)", "hard": " (think hard)", "harder": " (think harder)", "ultra": " (ultrathink)"}
_TARGETED = {"read": "reads with", "write": "writes with", "bash": "strikes with", "web": "casts", "tool": "uses"}
_PLAIN = {
    "enter": "enters",
    "leave": "leaves",
    "turn_finish": "has finished: victory!",
    "interrupt": "is interrupted",
    "compact_start": "makes camp and rests (compaction)",
    "compact_end": "wakes up with a fresh mind",
    "idle": "stands still",
    "chest": "finds a bonus chest",
}


class StoryTeller:
    """Tells events as lines; remembers what the actors are called."""

    def __init__(self) -> None:
        self._heroes: dict[str, str] = {}
        self._companions: dict[tuple[str, str], str] = {}

    def name_heroes(self, sessions: list[dict[str, Any]]) -> None:
        """Learn the names in a snapshot."""
        for one in sessions:
            self._name_hero(one["session"], one["title"], one["project"])
            for agent in one["agents"]:
                self._companions[one["session"], agent["agent"]] = agent["agent_type"]

    def write_line(self, event: GameEvent) -> str:
        """Return an event as a line, or an empty string if it isn't worth one."""
        if event.game == "enter":
            self._name_hero(event.session, event.fields["title"], event.fields["project"])
        elif event.game == "agent_start":
            self._companions[event.session, event.fields["agent"]] = event.fields["agent_type"]
        words = describe_game(event)
        if not words:
            return ""
        gains = ", ".join(f"+{grant.amount} xp" for grant in event.xp)
        return f"{self.name_actor(event)} {words}" + (f" ({gains})" if gains else "")

    def name_actor(self, event: GameEvent) -> str:
        """Return what the actor of an event is called."""
        hero = self._heroes.get(event.session, event.session[:8])
        if event.actor == "main":
            return hero
        return f"{self._companions.get((event.session, event.actor)) or 'A companion'} of {hero}"

    def _name_hero(self, session: str, title: str, project: str) -> None:
        folder = project.replace("\\", "/").rstrip("/").rpartition("/")[2]
        self._heroes[session] = shorten_line(title or folder or session[:8], _MAX_NAME_CHARS)


def describe_game(event: GameEvent) -> str:
    """Say in a few words what happened; empty if it isn't worth a line."""
    game, fields = event.game, event.fields
    if game in _PLAIN:
        return _PLAIN[game]
    if game in _TARGETED:
        target = f": {shorten_line(fields['target'])}" if fields["target"] else ""
        return f"{_TARGETED[game]} {fields['tool']}{target}"
    describe = _DESCRIPTIONS.get(game)
    return describe(fields) if describe else ""


def _describe_result(fields: dict[str, Any]) -> str:
    if fields["category"] == "run" and fields["outcome"] == "ok":
        streak = fields["streak"] or 0
        return f"succeeds, {streak} in a row" if streak > 1 else "succeeds"
    return "" if fields["outcome"] in ("ok", "failed", "background") else f"is refused ({fields['outcome']})"


def _describe_ship(fields: dict[str, Any]) -> str:
    return "has SHIPPED: pushed" if fields["kind"] == "push" else f"has SHIPPED: pull request {fields['url'] or ''}"


_DESCRIPTIONS: dict[str, Callable[[dict[str, Any]], str]] = {
    "quest": lambda fields: f"sets out on a quest{_LEVELS.get(fields['level'], '')}: {shorten_line(fields['text'])}",
    "answered": lambda fields: "is at work" if fields["reason"] else "has your answer",
    "result": _describe_result,
    "think": lambda fields: f"thinks: {shorten_line(fields['text'])}" if fields["text"] else "thinks",
    "text": lambda fields: f"says: {shorten_line(fields['text'])}",
    "agent_start": lambda fields: f"is joined by {_join_words(fields['agent_type'], fields['description'])}",
    "agent_finish": lambda fields: (
        "sees a companion off" + ("" if fields["outcome"] == "ok" else f" ({fields['outcome']})")
    ),
    "todos": lambda fields: (
        f"has done {sum(item['status'] == 'completed' for item in fields['items'])} of {len(fields['items'])} tasks"
    ),
    "question": lambda fields: f"WAITS FOR YOU and asks: {shorten_line(fields['text'])}",
    "plan": lambda fields: f"WAITS FOR YOU and shows a plan: {shorten_line(fields['text'])}",
    "permission": lambda fields: f"WAITS FOR YOU and needs permission: {_join_words(fields['tool'], fields['title'])}",
    "error": lambda fields: (
        f"is attacked by {'an API error' if fields['source'] == 'api' else 'a bug'}: {shorten_line(fields['text'])}"
    ),
    "ship": _describe_ship,
    "level_up": lambda fields: f"reaches level {fields['level']}",
}


def _join_words(*texts: str) -> str:
    return shorten_line(", ".join(text for text in texts if text)) or "a companion"


def shorten_line(text: str, limit: int = MAX_LINE_TEXT_CHARS) -> str:
    """Return a text on one line, cut to a limit."""
    line = " ".join(text[: 4 * limit].split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
