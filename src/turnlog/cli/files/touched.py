"""Tables of files, and what was done to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.cli import when
from turnlog.cli.rows import number, rows
from turnlog.cli.terminal import Screen, line
from turnlog.session.files.touches import FileTouches, Touch, by_file, touches

if TYPE_CHECKING:
    from turnlog.session.session import Session
    from turnlog.store.insight.touched import IndexedFile

_DEFINITION = (
    "Read, written, edited: calls of Read, Write, Edit, MultiEdit and NotebookEdit that succeeded, and files that the"
    " client saw a command change; each call id once, sub-agents included. Shown: put into the conversation by the"
    " client (@-mentions, open files). Failed: failed, denied, interrupted or unanswered calls."
)
_INDEXED = (
    "Read, written, edited: calls that succeeded, over all sessions of the project and their sub-agents; each call id"
    " once, in the session that has it first. Failed: failed, denied, interrupted or unanswered calls."
)


class Wish(NamedTuple):
    """Which files are wanted."""

    glob: str | None = None
    written: bool = False


def fits(path: str, glob: str | None) -> bool:
    """Whether a path, or the end of it, fits a pattern."""
    if glob is None:
        return True
    plain, pattern = path.replace("\\", "/"), glob.replace("\\", "/").removeprefix("./")
    return fnmatchcase(plain, pattern) or fnmatchcase(plain, "*/" + pattern.lstrip("/"))


def inside(path: str, session: Session) -> str:
    """A path as seen from the folder in which the session began."""
    cwd = session.folders[0] if session.folders else ""
    return path[len(cwd) + 1 :] if cwd and path.startswith((cwd + "/", cwd + "\\")) else path


# -- one session


def wanted(session: Session, wish: Wish) -> list[FileTouches]:
    """The files of a session that are asked for."""
    found = (item for item in by_file(touches(session)) if fits(item.path, wish.glob))
    return [item for item in found if not wish.written or item.count("write", "edit")]


def table(session: Session, found: list[FileTouches], screen: Screen) -> Iterator[str]:
    """The files as lines, with the turns that touched them."""
    head = ("file", "read", "written", "edited", "shown", "failed", "turns", "last", "by")
    yield from rows(head, (_cells(session, item) for item in found), screen, numbers=range(1, 6))
    if not found:
        yield "No files."
    yield from screen.prose(_DEFINITION, "dim")


def _cells(session: Session, item: FileTouches) -> tuple[str, ...]:
    counts = (item.count("read"), item.count("write"), item.count("edit"), item.count("attach"), len(item.failures))
    turns = sorted({touch.turn.number for touch in item.touches if touch.turn})
    who = dict.fromkeys(_called(touch) for touch in item.touches)
    told = ", ".join(who) if any(touch.agent for touch in item.touches) else ""
    foreign = " (changed by somebody else)" if item.count("change") else ""
    last = when.local(item.touches[-1].time)
    return (line(inside(item.path, session)), *map(number, counts), ranges(turns), last, line(told + foreign))


def _called(touch: Touch) -> str:
    return f"{touch.agent.type or touch.agent.kind} {touch.agent.agent_id}" if touch.agent else "session"


def document(session: Session, found: Iterable[FileTouches]) -> dict[str, Any]:
    """The files of a session as a JSON document."""
    return {
        "session_id": session.session_id,
        "path": str(session.path) if session.path else None,
        "files": [_file(item) for item in found],
    }


def _file(item: FileTouches) -> dict[str, Any]:
    return {
        "path": item.path,
        "reads": item.count("read"),
        "writes": item.count("write"),
        "edits": item.count("edit"),
        "shown": item.count("attach"),
        "changed_elsewhere": item.count("change"),
        "failures": len(item.failures),
        "first": item.touches[0].time,
        "last": item.touches[-1].time,
        "turns": sorted({touch.turn.number for touch in item.touches if touch.turn}),
        "agents": list(dict.fromkeys(touch.agent.agent_id for touch in item.touches if touch.agent)),
        "touches": [_touch(touch) for touch in item.touches],
    }


def _touch(touch: Touch) -> dict[str, Any]:
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


def indexed_wanted(found: Iterable[IndexedFile], wish: Wish) -> list[IndexedFile]:
    """The files of a project that are asked for."""
    return [item for item in found if fits(item.path, wish.glob) and (not wish.written or item.writes or item.edits)]


def indexed_table(found: list[IndexedFile], screen: Screen) -> Iterator[str]:
    """The files of a project as lines, with the sessions that touched them."""
    head = ("file", "read", "written", "edited", "failed", "last", "sessions")
    yield from rows(head, map(_indexed_cells, found), screen, numbers=range(1, 5))
    if not found:
        yield "No files."
    yield from screen.prose(_INDEXED, "dim")


def _indexed_cells(item: IndexedFile) -> tuple[str, ...]:
    counts = (item.reads, item.writes, item.edits, item.failures)
    shown = [line(name[:8]) for name in list(item.sessions)[-5:][::-1]]
    more = f" and {len(item.sessions) - len(shown)} more" if len(item.sessions) > len(shown) else ""
    return (line(item.path), *map(number, counts), when.local(item.last), " ".join(shown) + more)


def indexed_document(found: Iterable[IndexedFile]) -> dict[str, Any]:
    """The files of a project as a JSON document."""
    return {"files": [_indexed_file(item) for item in found]}


def _indexed_file(item: IndexedFile) -> dict[str, Any]:
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


def ranges(numbers: list[int]) -> str:
    """Ascending numbers in short: `1, 3–5`."""
    found: list[list[int]] = []
    for item in numbers:
        if found and item == found[-1][-1] + 1:
            found[-1].append(item)
        else:
            found.append([item])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in found) or "–"
