"""A project's folder was renamed: what the client keeps of it gets the new path, in one change that can be undone.

Session files keep their times: the client sorts by them, and cleans up by them. The project's own folder is not
touched; whoever renames it does that before or afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.move.files import differs, joined_index, state_files, translated
from turnlog.edit.move.paths import Translation
from turnlog.edit.move.plan import INDEX, Folder, Plan, files, moves
from turnlog.edit.target import Target
from turnlog.edit.undo.change import Change, Remove, Rename, Rewrite
from turnlog.edit.undo.opened import refuse_open
from turnlog.edit.undo.undo import Progress, Record, Undo
from turnlog.entries.reader import scan
from turnlog.errors import TurnlogError, UsageError

_CACHE = "resume-head.jsonl"
"""What the client remembers of the bytes of a large transcript; without it, it reads the transcript."""
_NAMED = 5


class Moved(NamedTuple):
    """What was changed, or would be."""

    record: Record | None
    files: int
    """Whose content changed."""
    lines: int
    """That changed in them."""


class _Tally:
    """Counts lines while they are written, by file."""

    def __init__(self) -> None:
        self.lines: Counter[Path] = Counter()
        self.changed: Counter[Path] = Counter()

    def tell(self, path: Path, old: bytes, new: bytes) -> None:
        self.lines[path] += 1
        self.changed[path] += old != new


def refuse(plan: Plan, *, merge: bool, force: bool = False, asked: bool = False) -> None:
    """Refuse to move over what stands there, or a session that is open; `force` and `asked` as in `busy.blocking`."""
    refuse_open(targets_in(plan), growth=True, force=force, asked=asked)
    if plan.taken and not merge:
        raise UsageError(f"{_listed(plan.taken)}: stands there already; --merge moves the sessions into it")
    if plan.collisions:
        raise TurnlogError(f"{_listed(plan.collisions)}: stands there already; nothing was moved, move it away first")


def targets_in(plan: Plan) -> list[Target]:
    """The sessions that go, where they are and where they will be.

    Who renames a project's folder first takes a running client's working folder along: then it is the new one.
    """
    found = [target for folder in plan.folders for target in folder.targets]
    ahead = [
        target._replace(path=folder.goal / target.path.name)
        for folder in plan.folders
        for target in folder.targets
        if folder.goal != folder.source
    ]
    return found + ahead


def _listed(paths: list[Path]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(str(path) for path in paths[:_NAMED]) + more


def move(
    plan: Plan,
    undo: Undo,
    *,
    text: bool = False,
    merge: bool = False,
    force: bool = False,
    asked: bool = False,
    progress: Progress | None = None,
) -> Moved:
    """Carry out a plan, and read the result to see that it is right; else everything is taken back."""
    refuse(plan, merge=merge, force=force, asked=asked)
    tally = _Tally()
    words = f"{plan.translation.old} is now {plan.translation.new}"
    record = undo.carry_out("move", words, list(changes(plan, tally, text=text)), progress)
    try:
        _verify(plan, tally)
    except BaseException:
        undo.undo(record, force=True)
        raise
    return _moved(record, tally)


def rehearsed(plan: Plan, *, text: bool = False) -> Moved:
    """What a move would change."""
    tally = _Tally()
    for change in changes(plan, tally, text=text):
        if isinstance(change, Rewrite):
            for _ in change.lines():
                pass
    return _moved(None, tally)


def _moved(record: Record | None, tally: _Tally) -> Moved:
    changed = [number for number in tally.changed.values() if number]
    return Moved(record, len(changed), sum(changed))


def changes(plan: Plan, tally: _Tally, *, text: bool) -> Iterator[Change]:
    """All changes in their order: contents first, then names."""
    for folder in plan.folders:
        yield from _rewrites(folder, plan.translation, tally, text=text)
    for config_dir in plan.config_dirs:
        history = config_dir / "history.jsonl"
        if history.is_file() and differs(history, plan.translation):
            yield _rewrite(history, config_dir, plan.translation, tally)
    for path in state_files(plan.config_dirs):
        if differs(path, plan.translation):
            yield _rewrite(path, path.parent, plan.translation, tally)
    for folder in plan.folders:
        if folder.goal != folder.source:
            yield from _renames(folder, plan.translation)


def _rewrites(folder: Folder, translation: Translation, tally: _Tally, *, text: bool) -> Iterator[Change]:
    root = folder.config_dir / "projects"
    merges = folder.goal != folder.source and (folder.goal / INDEX).exists()
    for path in files(folder):
        is_joined = merges and path == folder.source / INDEX
        if path.name == _CACHE:
            yield Remove(path, root)
        elif path.suffix in (".jsonl", ".json") and not is_joined and differs(path, translation, text=text):
            yield _rewrite(path, root, translation, tally, text=text)


def _rewrite(path: Path, root: Path, translation: Translation, tally: _Tally, *, text: bool = False) -> Rewrite:
    def lines() -> Iterator[bytes]:
        tally.lines[path] = tally.changed[path] = 0
        return translated(path, translation, text=text, tell=partial(tally.tell, path))

    return Rewrite(path, lines, root)


def _renames(folder: Folder, translation: Translation) -> Iterator[Change]:
    root = folder.config_dir / "projects"
    if folder.is_whole and not folder.goal.exists():
        yield Rename(folder.source, folder.goal, root)
        return
    for source, goal in moves(folder):
        if source.name == INDEX and goal.exists():
            yield from _join_index(source, goal, root, translation)
        else:
            yield Rename(source, goal, root)
    if folder.is_whole:
        memory = folder.source / "memory"
        if memory.is_dir() and (folder.goal / "memory").is_dir():
            yield Remove(memory, root)
        yield Remove(folder.source, root)


def _join_index(source: Path, goal: Path, root: Path, translation: Translation) -> Iterator[Change]:
    ours = b"".join(translated(source, translation))
    joined = joined_index(goal.read_bytes(), ours)
    if joined is not None:
        yield Rewrite(goal, lambda: [joined], root)
    yield Remove(source, root)


def _verify(plan: Plan, tally: _Tally) -> None:
    """See that no path of old is left in an envelope, and that each file has as many entries as before."""
    nested = plan.translation.prefix.covers(plan.translation.new)
    for folder in plan.folders:
        for path in files(folder._replace(source=folder.goal)):
            before = folder.source / path.relative_to(folder.goal)
            if path.suffix == ".jsonl" and before in tally.lines:
                found = _read(path, plan.translation if not nested else None)
                if found != tally.lines[before]:
                    raise TurnlogError(
                        f"{path}: has {found} entries, and had {tally.lines[before]}; all was taken back"
                    )


def _read(path: Path, translation: Translation | None) -> int:
    number = 0
    with path.open("rb") as file:
        for number, (_, raw) in enumerate(scan(file), 1):
            if translation is not None and translation.line(raw) != raw:
                raise TurnlogError(f"{path}: entry {number} still names {translation.old}; all was taken back")
    return number
