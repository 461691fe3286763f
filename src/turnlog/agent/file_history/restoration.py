"""Brings files back to their state before a prompt, after showing what that would change.

    plan_restoration   compares the files with their copies; changes nothing
    restore_files      carries out a plan; first keeps a copy of everything that it replaces or deletes

The session names the files, and a session can come from somebody else, so files outside the working folders and files
that a rule protects are left alone and reported.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal, NamedTuple

from turnlog.agent.file_history.history import FileHistory, read_copied_file
from turnlog.agent.file_history.snapshots import FileCopy, Snapshots
from turnlog.entries.pinned_file import PinnedFile
from turnlog.errors import TurnlogError

_MAX_COMPARED_LINES = 20_000
"""In longer files, all lines count as changed."""
RestoreAction = Literal["restore", "delete", "skip"]


class RestoreStep(NamedTuple):
    """What happens to one file."""

    path: Path
    action: RestoreAction
    data: bytes | None = None
    """The content to restore."""
    reason: str = ""
    """Why a file is skipped."""
    added: int = 0
    """How many lines the file gains."""
    removed: int = 0
    file: PinnedFile | None = None
    """The file as it was when its change was permitted."""


class RestoredFiles(NamedTuple):
    changed: tuple[Path, ...]
    skipped: tuple[RestoreStep, ...]
    kept: Path | None
    """The folder with the copies of what was replaced or deleted; None if nothing was."""


def plan_restoration(
    history: FileHistory, snapshots: Snapshots, prompt: str, find_refusal: Callable[[Path], str | None]
) -> list[RestoreStep]:
    """Return a step for each file that differs from its state before a prompt.

    `find_refusal` returns why a file must not be changed, or None. Raises TurnlogError if the session has no snapshot
    for the prompt.
    """
    if prompt not in snapshots:
        raise TurnlogError("the session has no copies of files for this prompt")
    return [
        step
        for tracked, copy in sorted(_collect_targets(snapshots, prompt).items())
        if (step := _plan_step(history, history.root / tracked, copy, find_refusal)) is not None
    ]


def restore_files(history: FileHistory, steps: Sequence[RestoreStep]) -> RestoredFiles:
    """Carry out a plan; a file that can't be changed is skipped, with the reason."""
    changed: list[Path] = []
    skipped: list[RestoreStep] = []
    is_kept = False
    for step in steps:
        if step.action == "skip":
            skipped.append(step)
            continue
        try:
            file = step.file or PinnedFile(step.path)
            file.check()
            is_kept = history.keep_current(step.path) is not None or is_kept
            _apply_step(step, file)
        except (OSError, TurnlogError) as error:
            skipped.append(step._replace(action="skip", reason=str(error)))
        else:
            changed.append(step.path)
    return RestoredFiles(tuple(changed), tuple(skipped), history.folder if is_kept else None)


def _collect_targets(snapshots: Snapshots, prompt: str) -> dict[str, FileCopy]:
    """Return the copy of each file to go back to: the prompt's own or, if it was changed only later, its first copy."""
    first: dict[str, FileCopy] = {}
    for copies in snapshots.values():
        for path, copy in copies.items():
            if path not in first or copy.version < first[path].version:
                first[path] = copy
    return {**first, **snapshots[prompt]}


def _plan_step(
    history: FileHistory, path: Path, copy: FileCopy, find_refusal: Callable[[Path], str | None]
) -> RestoreStep | None:
    """Return what must happen to a file, or None if it is already in the right state."""
    file = PinnedFile(path)
    try:
        now = read_copied_file(path)
        then = None if copy.name is None else read_copied_file(history.folder / copy.name)
    except (OSError, TurnlogError, ValueError) as error:
        return RestoreStep(path, "skip", reason=str(error))
    if now == then and (copy.name is None or then is not None):
        return None
    if refusal := find_refusal(path) or find_refusal(file.real):
        return RestoreStep(path, "skip", reason=refusal)
    if copy.name is not None and then is None:
        return RestoreStep(path, "skip", reason="its copy is gone")
    added, removed = _count_lines(now or b"", then or b"")
    return RestoreStep(path, "delete" if then is None else "restore", then, "", added, removed, file)


def _apply_step(step: RestoreStep, file: PinnedFile) -> None:
    if step.data is None:
        file.unlink()
        return
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
    except FileNotFoundError:
        mode = 0o644
    file.replace(step.data, mode=mode)


def _count_lines(before: bytes, after: bytes) -> tuple[int, int]:
    """Return how many lines are added and removed."""
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > _MAX_COMPARED_LINES:
        return len(new), len(old)
    changes = [code for code in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if code[0] != "equal"]
    return sum(code[4] - code[3] for code in changes), sum(code[2] - code[1] for code in changes)


def describe_steps(steps: Sequence[RestoreStep], root: Path) -> Iterator[str]:
    """Yield a line for each step, for people."""
    for step in steps:
        name = step.path.relative_to(root) if step.path.is_relative_to(root) else step.path
        if step.action == "skip":
            yield f"unchanged  {name} ({step.reason})"
        else:
            yield f"{step.action:<9}  {name}  +{step.added} -{step.removed}"
