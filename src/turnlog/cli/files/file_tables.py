"""Tables of files and the operations on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from turnlog.cli import time_format
from turnlog.cli.rows import format_table_number, render_table_rows
from turnlog.cli.terminal import TerminalScreen, to_visible_line

if TYPE_CHECKING:
    from turnlog.api.files import FileReport, ProjectFile, SessionFiles

_DEFINITION = (
    "Read, written, edited: successful calls to Read, Write, Edit, MultiEdit and NotebookEdit, and files that a"
    " command changed, according to Claude Code; each call id once, sub-agents included. Shown: added to the"
    " conversation by Claude Code (@-mentions, open files). Failed: failed, denied, interrupted or unanswered calls."
)
_PROJECT_DEFINITION = (
    "Read, written, edited: successful calls in all sessions of the project and their sub-agents; each call id"
    " once, in the session that has it first. Failed: failed, denied, interrupted or unanswered calls."
)


def render_file_table(found: SessionFiles, screen: TerminalScreen) -> Iterator[str]:
    """Render the files of a session, with the turns that touched them."""
    head = ("file", "read", "written", "edited", "shown", "failed", "turns", "last", "by")
    rows = (_build_cells(item, found.project) for item in found.files)
    yield from render_table_rows(head, rows, screen, numbers=range(1, 6))
    if not found.files:
        yield "No files."
    yield from screen.wrap_prose(_DEFINITION, "dim")


def _build_cells(item: FileReport, project: str | None) -> tuple[str, ...]:
    from turnlog.api.files import to_project_path

    counts = (item.reads, item.writes, item.edits, item.shown, item.failures)
    names = dict.fromkeys(
        f"{touch.agent_type} {touch.agent_id}" if touch.agent_id else "session" for touch in item.touches
    )
    by = ", ".join(names) if item.agents else ""
    foreign = " (changed by someone else)" if item.changed_elsewhere else ""
    return (
        to_visible_line(to_project_path(item.path, project)),
        *map(format_table_number, counts),
        format_number_ranges(item.turns),
        time_format.format_client_time(item.last),
        to_visible_line(by + foreign),
    )


def render_project_table(found: list[ProjectFile], screen: TerminalScreen) -> Iterator[str]:
    """Render the files of a project, with the sessions that touched them."""
    head = ("file", "read", "written", "edited", "failed", "last", "sessions")
    yield from render_table_rows(head, map(_build_project_cells, found), screen, numbers=range(1, 5))
    if not found:
        yield "No files."
    yield from screen.wrap_prose(_PROJECT_DEFINITION, "dim")


def _build_project_cells(item: ProjectFile) -> tuple[str, ...]:
    counts = (item.reads, item.writes, item.edits, item.failures)
    newest = [to_visible_line(session.session_id[:8]) for session in item.sessions[-5:][::-1]]
    more = f" and {len(item.sessions) - len(newest)} more" if len(item.sessions) > len(newest) else ""
    return (
        to_visible_line(item.path),
        *map(format_table_number, counts),
        time_format.format_client_time(item.last),
        " ".join(newest) + more,
    )


def format_number_ranges(numbers: list[int]) -> str:
    """Shorten ascending numbers: `1, 3–5`."""
    found: list[list[int]] = []
    for item in numbers:
        if found and item == found[-1][-1] + 1:
            found[-1].append(item)
        else:
            found.append([item])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in found) or "–"
