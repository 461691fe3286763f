"""Finding a session by what a person calls it: a path, an id or the start of one, a title, or `last`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..entries.layout import SessionFile, session_files
from ..entries.peek import Peek, peek
from ..errors import Ambiguous, NotFound

LAST = "last"
_LISTED = 5


def find(name: str, config_dirs: Iterable[Path]) -> Path:
    """The file of the one session that a name means."""
    given = Path(name).expanduser()
    if name != LAST and (given.suffix == ".jsonl" or "/" in name or "\\" in name or given.is_file()):
        if not given.is_file():
            raise NotFound(f"{name}: no such file")
        return given
    files = [item for folder in config_dirs for item in session_files(folder)]
    if not files:
        raise NotFound(f"{name}: there are no sessions on this machine; give a path to a file")
    if name == LAST:
        return _last(files)
    found = [item for item in files if item.session_id.startswith(name.lower())] or list(_titled(name, files))
    if len(found) == 1:
        return found[0].path
    if not found:
        raise NotFound(f"no session is called {name!r}{_closest(name, files)}")
    newest = sorted(found, key=lambda item: -item.mtime_ns)[:_LISTED]
    listed = ", ".join(item.session_id for item in newest)
    raise Ambiguous(f"{name!r} fits {len(found)} sessions: {listed}{' …' if len(found) > _LISTED else ''}; give more of the id")


def _last(files: list[SessionFile]) -> Path:
    for item in sorted(files, key=lambda item: -item.mtime_ns):
        if not look(item).junk:
            return item.path
    raise NotFound("no session on this machine holds a conversation")


def look(item: SessionFile) -> Peek:
    """The two ends of a listed file; an unreadable one tells nothing."""
    try:
        return peek(item.file)
    except OSError:
        return Peek(junk="unreadable")


def title_of(seen: Peek) -> str | None:
    """The name to show for a session of which only the ends were read."""
    return seen.custom_title or seen.ai_title or seen.summary or seen.first_prompt or seen.first_command or seen.last_prompt


def _titled(name: str, files: list[SessionFile]) -> Iterator[SessionFile]:
    wanted = name.casefold()
    for item in files:
        seen = look(item)
        if any(title and title.casefold() == wanted for title in (seen.custom_title, seen.ai_title, seen.summary)):
            yield item


def _closest(name: str, files: list[SessionFile]) -> str:
    by_text = {item.session_id: item.session_id for item in files}
    near = difflib.get_close_matches(name.lower(), by_text, 3, 0.3)
    return f"; the closest ids are {', '.join(near)}" if near else ""
