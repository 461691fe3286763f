"""Choosing a session from a list: by its number, after typing words that it must hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from turnlog.agent.console.screen import Screen
from turnlog.agent.record.branch import DETACHED
from turnlog.agent.resume.choices import Choice, choices
from turnlog.agent.start import Starting
from turnlog.entries.layout import config_dirs
from turnlog.render.figures import count, size
from turnlog.render.terminal import Screen as Look
from turnlog.render.terminal import cut, line

SHOWN = 15
HINT = "  number, words to look for, Enter for the first, q to leave: "
_LONGEST = 200


def choose(starting: Starting, ask: Callable[[str], str | None], screen: Screen) -> str | None:
    """Let a person choose a session of the folder, or of all folders where it has none; None if they leave."""
    folders = config_dirs(starting.environ)
    found = choices(folders, starting.cwd) or choices(folders, None, limit=200)
    if not found:
        screen.say("There is no session yet.")
        return None
    chosen = pick(found, ask, screen.say, screen.look)
    return str(chosen.path) if chosen else None


def pick(
    known: Sequence[Choice], ask: Callable[[str], str | None], say: Callable[..., None], look: Look
) -> Choice | None:
    """Let a person choose one of some sessions; None if they leave."""
    found = list(known)
    while True:
        say(*_listed(found, look))
        said = ask(HINT)
        if said is None or said.strip() in ("q", "quit"):
            return None
        word = said.strip()
        if not word and found:
            return found[0]
        if word.isdecimal() and 1 <= int(word) <= min(len(found), SHOWN):
            return found[int(word) - 1]
        found = [choice for choice in known if matches(choice, word)]
        if not found:
            say(f"  {line(word)}: no session holds this in its title, prompt, folder or id")
            found = list(known)


def matches(choice: Choice, words: str) -> bool:
    """Whether a session holds all words in what is known of it."""
    known = " ".join((choice.title, choice.last_prompt or "", choice.cwd or "", choice.branch or "", choice.session_id))
    return all(word in known.casefold() for word in words.casefold().split())


def _listed(found: Sequence[Choice], look: Look) -> Iterator[str]:
    for number, choice in enumerate(found[:SHOWN], 1):
        branch = "" if choice.branch == DETACHED else line(choice.branch or "")
        facts = (ago(choice.time), size(choice.size), branch, line((choice.cwd or "")[-_LONGEST:]))
        told = " · ".join(fact for fact in facts if fact)
        title = cut(line(choice.title[:_LONGEST]), max((look.width or 100) - 6, 20))
        yield f"{number:>3}  {look.paint(title, 'bold')}"
        yield f"     {look.paint(look.fit(told, 5), 'dim')}"
    if len(found) > SHOWN:
        yield f"     {count(len(found) - SHOWN, 'more session')}; type words to find them"


def ago(time: datetime, now: datetime | None = None) -> str:
    """How long ago something was."""
    seconds = ((now or datetime.now(UTC)) - time).total_seconds()
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            return f"{count(int(seconds // length), unit)} ago"
    return "just now"
