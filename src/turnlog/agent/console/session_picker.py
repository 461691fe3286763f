"""Lets a person choose a session from a list, either by number or by filtering the list with words."""

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
PICKER_HINT = "  number, words to search for, Enter for the first, q to cancel: "
_MAX_TEXT_CHARS = 200


def choose_session(starter: SessionStarter, ask: Callable[[str], str | None], screen: ConsoleScreen) -> str | None:
    """Let a person choose a session from the folder, or from all folders if it has none; return None if they cancel."""
    folders = find_config_dirs(starter.environ)
    choices = list_resumable_sessions(folders, starter.cwd) or list_resumable_sessions(folders, None, limit=200)
    if not choices:
        screen.write_lines("There are no sessions yet.")
        return None
    chosen = pick_from_list(choices, ask, screen.write_lines, screen.look)
    return str(chosen.path) if chosen else None


def pick_from_list(
    known: Sequence[ResumeChoice], ask: Callable[[str], str | None], say: Callable[..., None], look: Look
) -> ResumeChoice | None:
    """Let a person choose one of `known`; return None if they cancel."""
    choices = list(known)
    while True:
        say(*_render_choices(choices, look))
        answer = ask(PICKER_HINT)
        if answer is None or answer.strip() in ("q", "quit"):
            return None
        text = answer.strip()
        if not text and choices:
            return choices[0]
        if text.isdecimal() and 1 <= int(text) <= min(len(choices), MAX_LISTED_SESSIONS):
            return choices[int(text) - 1]
        choices = [choice for choice in known if matches_words(choice, text)]
        if not choices:
            say(f"  no session has '{to_visible_line(text)}' in its title, prompt, folder or id")
            choices = list(known)


def matches_words(choice: ResumeChoice, words: str) -> bool:
    """Return whether every word occurs in the session's title, prompt, folder, branch or id."""
    known = " ".join((choice.title, choice.last_prompt or "", choice.cwd or "", choice.branch or "", choice.session_id))
    return all(word in known.casefold() for word in words.casefold().split())


def _render_choices(choices: Sequence[ResumeChoice], look: Look) -> Iterator[str]:
    for number, choice in enumerate(choices[:MAX_LISTED_SESSIONS], 1):
        branch = "" if choice.branch == DETACHED_HEAD else to_visible_line(choice.branch or "")
        facts = (
            format_age(choice.time),
            format_size(choice.size),
            branch,
            to_visible_line((choice.cwd or "")[-_MAX_TEXT_CHARS:]),
        )
        details = " · ".join(fact for fact in facts if fact)
        title = cut_to_cells(to_visible_line(choice.title[:_MAX_TEXT_CHARS]), max((look.width or 100) - 6, 20))
        yield f"{number:>3}  {look.paint(title, 'bold')}"
        yield f"     {look.paint(look.fit(details, 5), 'dim')}"
    if len(choices) > MAX_LISTED_SESSIONS:
        yield f"     {format_count(len(choices) - MAX_LISTED_SESSIONS, 'more session')}; type words to search"


def format_age(time: datetime, now: datetime | None = None) -> str:
    """Format a time relative to now, such as `3 hours ago`."""
    seconds = ((now or datetime.now(UTC)) - time).total_seconds()
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            return f"{format_count(int(seconds // length), unit)} ago"
    return "just now"
