"""Choosing a session from a list: by its number, after typing words that it must hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from turnlog.agent.console.screen import ConsoleScreen
from turnlog.agent.record.git_branch import DETACHED_HEAD
from turnlog.agent.resume.choices import ResumeChoice, list_resumable_sessions
from turnlog.agent.session_starter import SessionStarter
from turnlog.entries.layout import find_config_dirs
from turnlog.render.figures import format_count, format_size
from turnlog.render.terminal import TerminalScreen as Look
from turnlog.render.terminal import cut_to_cells, to_visible_line

MAX_LISTED_SESSIONS = 15
PICKER_HINT = "  number, words to look for, Enter for the first, q to leave: "
_MAX_TEXT_CHARS = 200


def choose_session(starting: SessionStarter, ask: Callable[[str], str | None], screen: ConsoleScreen) -> str | None:
    """Let a person choose a session of the folder, or of all folders where it has none; None if they leave."""
    folders = find_config_dirs(starting.environ)
    found = list_resumable_sessions(folders, starting.cwd) or list_resumable_sessions(folders, None, limit=200)
    if not found:
        screen.write_lines("There is no session yet.")
        return None
    chosen = pick_from_list(found, ask, screen.write_lines, screen.look)
    return str(chosen.path) if chosen else None


def pick_from_list(
    known: Sequence[ResumeChoice], ask: Callable[[str], str | None], say: Callable[..., None], look: Look
) -> ResumeChoice | None:
    """Let a person choose one of some sessions; None if they leave."""
    found = list(known)
    while True:
        say(*_render_choices(found, look))
        said = ask(PICKER_HINT)
        if said is None or said.strip() in ("q", "quit"):
            return None
        word = said.strip()
        if not word and found:
            return found[0]
        if word.isdecimal() and 1 <= int(word) <= min(len(found), MAX_LISTED_SESSIONS):
            return found[int(word) - 1]
        found = [choice for choice in known if matches_words(choice, word)]
        if not found:
            say(f"  {to_visible_line(word)}: no session holds this in its title, prompt, folder or id")
            found = list(known)


def matches_words(choice: ResumeChoice, words: str) -> bool:
    """Whether a session holds all words in what is known of it."""
    known = " ".join((choice.title, choice.last_prompt or "", choice.cwd or "", choice.branch or "", choice.session_id))
    return all(word in known.casefold() for word in words.casefold().split())


def _render_choices(found: Sequence[ResumeChoice], look: Look) -> Iterator[str]:
    for number, choice in enumerate(found[:MAX_LISTED_SESSIONS], 1):
        branch = "" if choice.branch == DETACHED_HEAD else to_visible_line(choice.branch or "")
        facts = (
            format_age(choice.time),
            format_size(choice.size),
            branch,
            to_visible_line((choice.cwd or "")[-_MAX_TEXT_CHARS:]),
        )
        told = " · ".join(fact for fact in facts if fact)
        title = cut_to_cells(to_visible_line(choice.title[:_MAX_TEXT_CHARS]), max((look.width or 100) - 6, 20))
        yield f"{number:>3}  {look.paint(title, 'bold')}"
        yield f"     {look.paint(look.fit(told, 5), 'dim')}"
    if len(found) > MAX_LISTED_SESSIONS:
        yield f"     {format_count(len(found) - MAX_LISTED_SESSIONS, 'more session')}; type words to find them"


def format_age(time: datetime, now: datetime | None = None) -> str:
    """How long ago something was."""
    seconds = ((now or datetime.now(UTC)) - time).total_seconds()
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            return f"{format_count(int(seconds // length), unit)} ago"
    return "just now"
