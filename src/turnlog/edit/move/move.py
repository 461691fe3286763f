"""Updates the client's files for a renamed project folder, in one change that can be undone.

Session files keep their modification times, because the client uses them to sort and delete sessions. The project's own
folder is not changed: the user renames it before or afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.move.move_plan import SESSIONS_INDEX_NAME, MovedFolder, MovePlan, list_moved_files, list_moves
from turnlog.edit.move.path_translation import PathTranslation
from turnlog.edit.move.translated_files import join_session_indexes, list_state_files, needs_translation, translate_file
from turnlog.edit.session_target import SessionTarget
from turnlog.edit.undo.change import FileChange, RemoveChange, RenameChange, RewriteChange
from turnlog.edit.undo.touched_sessions import refuse_open_sessions
from turnlog.edit.undo.undo import Undo, UndoProgress, UndoRecord
from turnlog.entries.reader import scan_lines
from turnlog.errors import TurnlogError, UsageError

_RESUME_CACHE_NAME = "resume-head.jsonl"
"""The client's cache for a large transcript; without it, the client reads the transcript."""
_MAX_NAMED_PATHS = 5


class MoveResult(NamedTuple):
    """What was changed, or would be changed."""

    record: UndoRecord | None
    files: int
    """The number of files whose content changed."""
    lines: int
    """The number of lines that changed in these files."""


class _LineTally:
    """Counts the lines of each file as they are written."""

    def __init__(self) -> None:
        self.lines: Counter[Path] = Counter()
        self.changed: Counter[Path] = Counter()

    def count_line(self, path: Path, old: bytes, new: bytes) -> None:
        self.lines[path] += 1
        self.changed[path] += old != new


def refuse_move(plan: MovePlan, *, merge: bool, force: bool = False, asked: bool = False) -> None:
    """Refuse to overwrite files, or to move a session that is open (see `open_signs.select_blocking_signs`)."""
    refuse_open_sessions(list_moved_targets(plan), growth=True, force=force, asked=asked)
    if plan.taken_folders and not merge:
        raise UsageError(
            f"{_format_paths(plan.taken_folders)}: already present; use --merge to move the sessions there"
        )
    if plan.collisions:
        raise TurnlogError(
            f"{_format_paths(plan.collisions)}: already present, so nothing was moved; move what is there aside first"
        )


def list_moved_targets(plan: MovePlan) -> list[SessionTarget]:
    """Return the sessions that move, first at their old paths and then at their new paths.

    If the user has already renamed the project's folder, the working directory of a running client is the new path.
    """
    current = [target for folder in plan.folders for target in folder.targets]
    future = [
        target._replace(path=folder.goal / target.path.name)
        for folder in plan.folders
        for target in folder.targets
        if folder.goal != folder.source
    ]
    return current + future


def _format_paths(paths: list[Path]) -> str:
    more = f" and {len(paths) - _MAX_NAMED_PATHS} more" if len(paths) > _MAX_NAMED_PATHS else ""
    return ", ".join(str(path) for path in paths[:_MAX_NAMED_PATHS]) + more


def move_project(
    plan: MovePlan,
    undo: Undo,
    *,
    text: bool = False,
    merge: bool = False,
    force: bool = False,
    asked: bool = False,
    progress: UndoProgress | None = None,
) -> MoveResult:
    """Carry out a plan and verify the result; if the result is wrong, reverse everything."""
    refuse_move(plan, merge=merge, force=force, asked=asked)
    tally = _LineTally()
    words = f"{plan.translation.old} is now {plan.translation.new}"
    record = undo.carry_out("move", words, list(list_move_changes(plan, tally, text=text)), progress)
    try:
        _verify_move(plan, tally)
    except BaseException:
        undo.undo_record(record, force=True)
        raise
    return _build_result(record, tally)


def rehearse_move(plan: MovePlan, *, text: bool = False) -> MoveResult:
    """Return what a move would change, without changing anything."""
    tally = _LineTally()
    for change in list_move_changes(plan, tally, text=text):
        if isinstance(change, RewriteChange):
            for _ in change.lines():
                pass
    return _build_result(None, tally)


def _build_result(record: UndoRecord | None, tally: _LineTally) -> MoveResult:
    changed = [number for number in tally.changed.values() if number]
    return MoveResult(record, len(changed), sum(changed))


def list_move_changes(plan: MovePlan, tally: _LineTally, *, text: bool) -> Iterator[FileChange]:
    """Yield all changes in order: contents first, then names."""
    for folder in plan.folders:
        yield from _list_rewrites(folder, plan.translation, tally, text=text)
    for config_dir in plan.config_dirs:
        history = config_dir / "history.jsonl"
        if history.is_file() and needs_translation(history, plan.translation):
            yield _build_rewrite(history, config_dir, plan.translation, tally)
    for path in list_state_files(plan.config_dirs):
        if needs_translation(path, plan.translation):
            yield _build_rewrite(path, path.parent, plan.translation, tally)
    for folder in plan.folders:
        if folder.goal != folder.source:
            yield from _list_renames(folder, plan.translation)


def _list_rewrites(
    folder: MovedFolder, translation: PathTranslation, tally: _LineTally, *, text: bool
) -> Iterator[FileChange]:
    root = folder.config_dir / "projects"
    merges = folder.goal != folder.source and (folder.goal / SESSIONS_INDEX_NAME).exists()
    for path in list_moved_files(folder):
        is_joined = merges and path == folder.source / SESSIONS_INDEX_NAME
        if path.name == _RESUME_CACHE_NAME:
            yield RemoveChange(path, root)
        elif path.suffix in (".jsonl", ".json") and not is_joined and needs_translation(path, translation, text=text):
            yield _build_rewrite(path, root, translation, tally, text=text)


def _build_rewrite(
    path: Path, root: Path, translation: PathTranslation, tally: _LineTally, *, text: bool = False
) -> RewriteChange:
    def lines() -> Iterator[bytes]:
        tally.lines[path] = tally.changed[path] = 0
        return translate_file(path, translation, text=text, report=partial(tally.count_line, path))

    return RewriteChange(path, lines, root)


def _list_renames(folder: MovedFolder, translation: PathTranslation) -> Iterator[FileChange]:
    root = folder.config_dir / "projects"
    if folder.is_whole and not folder.goal.exists():
        yield RenameChange(folder.source, folder.goal, root)
        return
    for source, goal in list_moves(folder):
        if source.name == SESSIONS_INDEX_NAME and goal.exists():
            yield from _join_index(source, goal, root, translation)
        else:
            yield RenameChange(source, goal, root)
    if folder.is_whole:
        memory = folder.source / "memory"
        if memory.is_dir() and (folder.goal / "memory").is_dir():
            yield RemoveChange(memory, root)
        yield RemoveChange(folder.source, root)


def _join_index(source: Path, goal: Path, root: Path, translation: PathTranslation) -> Iterator[FileChange]:
    ours = b"".join(translate_file(source, translation))
    joined = join_session_indexes(goal.read_bytes(), ours)
    if joined is not None:
        yield RewriteChange(goal, lambda: [joined], root)
    yield RemoveChange(source, root)


def _verify_move(plan: MovePlan, tally: _LineTally) -> None:
    """Check that no envelope contains the old path, and that each file has as many entries as before the move."""
    nested = plan.translation.prefix.covers_path(plan.translation.new)
    for folder in plan.folders:
        for path in list_moved_files(folder._replace(source=folder.goal)):
            before = folder.source / path.relative_to(folder.goal)
            if path.suffix == ".jsonl" and before in tally.lines:
                count = _count_entries(path, plan.translation if not nested else None)
                if count != tally.lines[before]:
                    raise TurnlogError(
                        f"{path}: found {count} entries instead of {tally.lines[before]}, so all changes were undone"
                    )


def _count_entries(path: Path, translation: PathTranslation | None) -> int:
    number = 0
    with path.open("rb") as file:
        for number, (_, raw) in enumerate(scan_lines(file), 1):
            if translation is not None and translation.translate_line(raw) != raw:
                raise TurnlogError(
                    f"{path}: entry {number} still contains {translation.old}, so all changes were undone"
                )
    return number
