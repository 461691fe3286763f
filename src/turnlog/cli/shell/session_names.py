"""Shell completion of sessions, by the start of an id or by part of a title."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

MAX_OFFERED = 30
MAX_TITLES_READ = 500
"""Number of newest sessions whose titles are read: completion must be instant."""
MAX_TITLE_CHARS = 60
_SESSION_ARGUMENTS = frozenset({"session", "sessions", "names"})
_PATH_STARTS = ("/", ".", "~")


class SessionName(click.ParamType[str]):
    """An argument that names a session. Any text is accepted; the command itself looks up the session."""

    name = "session"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the sessions that match what was typed so far."""
        if incomplete.startswith(_PATH_STARTS) or "/" in incomplete:
            return [CompletionItem(incomplete, type="file")]
        return offer_sessions(incomplete)


def complete_sessions(command: click.Command) -> None:
    """Add completion to each of a command's arguments that names a session."""
    for parameter in command.params:
        if isinstance(parameter, click.Argument) and parameter.name in _SESSION_ARGUMENTS:
            parameter.type = SessionName()


def offer_sessions(letters: str) -> list[CompletionItem]:
    """List short ids of the newest sessions whose ids start with the given letters or whose titles contain them."""
    from turnlog.api.config import load_config
    from turnlog.api.lookup import list_config_folders, shorten_ids
    from turnlog.cli.terminal import to_visible_line
    from turnlog.entries.peek import peek_safely
    from turnlog.session.session_lookup import LAST_SESSION_NAME, list_sessions_or_demo

    files = sorted(list_sessions_or_demo(list_config_folders(load_config())).files, key=lambda item: -item.mtime_ns)
    short = shorten_ids([item.session_id for item in files])
    wanted = letters.casefold()
    by_id = [item for item in files if item.session_id.startswith(wanted)]
    found = (
        [CompletionItem(LAST_SESSION_NAME, help="the newest session")] if LAST_SESSION_NAME.startswith(wanted) else []
    )
    for item in by_id or files[:MAX_TITLES_READ]:
        if len(found) >= MAX_OFFERED:
            break
        ends = peek_safely(item.file)
        title = to_visible_line((ends.titles.best if ends.titles else None) or "")[:MAX_TITLE_CHARS]
        if not ends.junk and (by_id or wanted in title.casefold()):
            found.append(CompletionItem(short[item.session_id], help=title or "(no title)"))
    return found
