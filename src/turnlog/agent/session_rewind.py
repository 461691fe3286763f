"""Goes back to an earlier prompt of a running session: its files, its conversation, or both."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from turnlog.agent.file_history.restoration import RestoredFiles, RestoreStep, plan_restoration, restore_files
from turnlog.agent.file_history.rewind_points import RewindPoint, list_rewind_points
from turnlog.agent.file_history.snapshots import read_snapshots
from turnlog.errors import TurnlogError
from turnlog.session.session import Session

if TYPE_CHECKING:
    from turnlog.agent.file_history.history import FileHistory
    from turnlog.agent.loop import AgentLoop


def read_rewind_points(loop: AgentLoop) -> list[RewindPoint]:
    """Return the prompts of the current conversation, oldest first."""
    if not loop.record.path.exists() or loop.record.last is None:
        return []
    with Session.open(loop.record.path) as session:
        return list_rewind_points(session, loop.record.last)


def plan_session_files(loop: AgentLoop, prompt: str) -> list[RestoreStep]:
    """Return what must happen to the files to restore their state before a prompt."""
    history, place = _get_history(loop), loop.setup.place
    with Session.open(loop.record.path) as session:
        snapshots = read_snapshots(session)
    return plan_restoration(history, snapshots, prompt, lambda path: loop.setup.guard.find_change_refusal(path, place))


def restore_session_files(loop: AgentLoop, steps: list[RestoreStep]) -> RestoredFiles:
    return restore_files(_get_history(loop), steps)


def rewind_conversation(loop: AgentLoop, point: RewindPoint) -> None:
    """Continue the conversation before a prompt; what followed stays in the file as a branch."""
    from turnlog.agent.resume.resume import load_resumable_session, write_missing_results

    found = load_resumable_session(loop.record.path, point.leaf) if point.leaf else None
    loop.rewind(found)
    if found is not None:
        loop.record.before = partial(write_missing_results, loop.record, found)


def _get_history(loop: AgentLoop) -> FileHistory:
    if loop.shared.history is None:
        raise TurnlogError("this session keeps no copies of files")
    return loop.shared.history
