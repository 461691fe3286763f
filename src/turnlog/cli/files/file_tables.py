"""Tables of files, and what was done to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.cli import time_format
from turnlog.cli.rows import format_table_number, render_table_rows
from turnlog.cli.terminal import TerminalScreen, to_visible_line
from turnlog.session.files.touches import FileTouches, Touch, group_touches_by_file, list_touches

if TYPE_CHECKING:
    from turnlog.session.session import Session
    from turnlog.store.insight.touched_files import IndexedFile

_DEFINITION = (
    "Read, written, edited: calls of Read, Write, Edit, MultiEdit and NotebookEdit that succeeded, and files that the"
    " client saw a command change; each call id once, sub-agents included. Shown: put into the conversation by the"
    " client (@-mentions, open files). Failed: failed, denied, interrupted or unanswered calls."
)
_INDEXED_DEFINITION = (
    "Read, written, edited: calls that succeeded, over all sessions of the project and their sub-agents; each call id"
    " once, in the session that has it first. Failed: failed, denied, interrupted or unanswered calls."
)


class FileFilter(NamedTuple):
    """Which files are wanted."""

    glob: str | None = None
    written: bool = False


def is_glob_match(path: str, glob: str | None) -> bool:
    """Whether a path, or the end of it, fits a pattern."""
    if glob is None:
        return True
    plain, pattern = path.replace("\\", "/"), glob.replace("\\", "/").removeprefix("./")
    return fnmatchcase(plain, pattern) or fnmatchcase(plain, "*/" + pattern.lstrip("/"))


def to_session_path(path: str, session: Session) -> str:
    """A path as seen from the folder in which the session began."""
    cwd = session.folders[0] if session.folders else ""
    return path[len(cwd) + 1 :] if cwd and path.startswith((cwd + "/", cwd + "\\")) else path


# -- one session


def select_touched_files(session: Session, wish: FileFilter) -> list[FileTouches]:
    """The files of a session that are asked for."""
    found = (item for item in group_touches_by_file(list_touches(session)) if is_glob_match(item.path, wish.glob))
    return [item for item in found if not wish.written or item.count_touches("write", "edit")]


def render_file_table(session: Session, found: list[FileTouches], screen: TerminalScreen) -> Iterator[str]:
    """The files as lines, with the turns that touched them."""
    head = ("file", "read", "written", "edited", "shown", "failed", "turns", "last", "by")
    yield from render_table_rows(head, (_build_cells(session, item) for item in found), screen, numbers=range(1, 6))
    if not found:
        yield "No files."
    yield from screen.wrap_prose(_DEFINITION, "dim")


def _build_cells(session: Session, item: FileTouches) -> tuple[str, ...]:
    counts = (
        item.count_touches("read"),
        item.count_touches("write"),
        item.count_touches("edit"),
        item.count_touches("attach"),
        len(item.failures),
    )
    turns = sorted({touch.turn.number for touch in item.touches if touch.turn})
    who = dict.fromkeys(_name_toucher(touch) for touch in item.touches)
    told = ", ".join(who) if any(touch.agent for touch in item.touches) else ""
    foreign = " (changed by somebody else)" if item.count_touches("change") else ""
    last = time_format.format_client_time(item.touches[-1].time)
    return (
        to_visible_line(to_session_path(item.path, session)),
        *map(format_table_number, counts),
        format_number_ranges(turns),
        last,
        to_visible_line(told + foreign),
    )


def _name_toucher(touch: Touch) -> str:
    return f"{touch.agent.type or touch.agent.kind} {touch.agent.agent_id}" if touch.agent else "session"


def to_files_document(session: Session, found: Iterable[FileTouches]) -> dict[str, Any]:
    """The files of a session as a JSON document."""
    return {
        "session_id": session.session_id,
        "path": str(session.path) if session.path else None,
        "files": [_to_file_document(item) for item in found],
    }


def _to_file_document(item: FileTouches) -> dict[str, Any]:
    return {
        "path": item.path,
        "reads": item.count_touches("read"),
        "writes": item.count_touches("write"),
        "edits": item.count_touches("edit"),
        "shown": item.count_touches("attach"),
        "changed_elsewhere": item.count_touches("change"),
        "failures": len(item.failures),
        "first": item.touches[0].time,
        "last": item.touches[-1].time,
        "turns": sorted({touch.turn.number for touch in item.touches if touch.turn}),
        "agents": list(dict.fromkeys(touch.agent.agent_id for touch in item.touches if touch.agent)),
        "touches": [_to_touch_document(touch) for touch in item.touches],
    }


def _to_touch_document(touch: Touch) -> dict[str, Any]:
    return {
        "time": touch.time,
        "turn": touch.turn.number if touch.turn else None,
        "action": touch.action,
        "tool": touch.tool,
        "outcome": touch.outcome,
        "call_id": touch.call.id if touch.call else None,
        "agent_id": touch.agent.agent_id if touch.agent else None,
    }


# -- a project


def filter_indexed_files(found: Iterable[IndexedFile], wish: FileFilter) -> list[IndexedFile]:
    """The files of a project that are asked for."""
    return [
        item
        for item in found
        if is_glob_match(item.path, wish.glob) and (not wish.written or item.writes or item.edits)
    ]


def render_indexed_table(found: list[IndexedFile], screen: TerminalScreen) -> Iterator[str]:
    """The files of a project as lines, with the sessions that touched them."""
    head = ("file", "read", "written", "edited", "failed", "last", "sessions")
    yield from render_table_rows(head, map(_build_indexed_cells, found), screen, numbers=range(1, 5))
    if not found:
        yield "No files."
    yield from screen.wrap_prose(_INDEXED_DEFINITION, "dim")


def _build_indexed_cells(item: IndexedFile) -> tuple[str, ...]:
    counts = (item.reads, item.writes, item.edits, item.failures)
    shown = [to_visible_line(name[:8]) for name in list(item.sessions)[-5:][::-1]]
    more = f" and {len(item.sessions) - len(shown)} more" if len(item.sessions) > len(shown) else ""
    return (
        to_visible_line(item.path),
        *map(format_table_number, counts),
        time_format.format_client_time(item.last),
        " ".join(shown) + more,
    )


def to_indexed_files_document(found: Iterable[IndexedFile]) -> dict[str, Any]:
    """The files of a project as a JSON document."""
    return {"files": [_to_indexed_file_document(item) for item in found]}


def _to_indexed_file_document(item: IndexedFile) -> dict[str, Any]:
    return {
        "path": item.path,
        "reads": item.reads,
        "writes": item.writes,
        "edits": item.edits,
        "failures": item.failures,
        "first": item.first,
        "last": item.last,
        "sessions": [{"session_id": name, "calls": calls} for name, calls in item.sessions.items()],
    }


# -- lines


def format_number_ranges(numbers: list[int]) -> str:
    """Ascending numbers in short: `1, 3–5`."""
    found: list[list[int]] = []
    for item in numbers:
        if found and item == found[-1][-1] + 1:
            found[-1].append(item)
        else:
            found.append([item])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in found) or "–"
