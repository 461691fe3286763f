"""Repairs what the doctor finds, as a new session or in place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs

from turnlog.api.clones import SessionCopy, to_session_copy
from turnlog.api.config import Config, data_dir
from turnlog.api.lookup import Notify, locate_session
from turnlog.edit.apply import refuse_busy_session, replace_transcript
from turnlog.edit.clone import clone_session as write_clone
from turnlog.edit.closing_entries import compose_copy_title
from turnlog.edit.draft import Draft
from turnlog.edit.illnesses.repair import Treatment, check_illness_kinds
from turnlog.edit.illnesses.repair import repair_session as repair_in_memory
from turnlog.edit.session_target import SessionTarget, find_target
from turnlog.edit.undo.undo import Undo
from turnlog.errors import UsageError
from turnlog.session.session import Session


class TreatedIllness(Treatment, frozen=True):
    """The outcome of repairing one kind of problem."""

    cured: bool = False
    """Whether the session no longer has the problem."""


class RepairResult(Struct, frozen=True):
    """The outcome of a repair."""

    session: Path
    treatments: tuple[TreatedIllness, ...]
    """One for each kind of problem that was found, in the order of the repairs."""
    revealed: list[str]
    """Kinds of problems that `only` does not name, in entries that the repair made reachable again."""
    cured: bool
    """Whether all requested repairs succeeded."""
    dry_run: bool
    made: SessionCopy | None = None
    """The new session; None for a repair in place, or if nothing was written."""
    change: str | None = None
    """The name of a change in place, for `undo`."""


def repair_session(
    session: str | Path,
    *,
    only: Sequence[str] = (),
    in_place: bool = False,
    title: str | None = None,
    force: bool = False,
    dry_run: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
) -> RepairResult:
    """Repair the problems that the doctor finds in a session, as a new session or in place.

    `only` limits the repair to the given kinds of problems, which may include kinds that the doctor reports only as
    notes. After a repair in place, `undo` restores the original. `force` changes a session even if it has just been
    written.
    """
    if in_place and title is not None:
        raise UsageError("title can't be combined with in_place; use rename_session to change the title")
    check_illness_kinds(tuple(only))
    path = locate_session(session, config, notify)
    target = None if dry_run else find_target(path)
    if target is not None and in_place:
        refuse_busy_session(target, force=force)
    with Session.open(path) as opened:
        outcome = repair_in_memory(opened, tuple(only), is_in_place=in_place)
        treatments = tuple(TreatedIllness(**structs.asdict(item), cured=not item.left) for item in outcome.treatments)
        result = RepairResult(path, treatments, outcome.revealed, outcome.is_cured, dry_run)
        if target is None or outcome.draft is None:
            return result
        if in_place:
            change = replace_repaired(target, opened, outcome.draft, treatments, force=force)
            return structs.replace(result, change=change)
        if title is None and any(item.kind == "title-not-in-tail" for item in treatments):
            title = compose_copy_title(
                "repair", opened.title, target.session_id
            )  # reading both ends of the file misses the title
        copy = write_clone(path, outcome.draft, title=title, verb="repair", project_dir=outcome.project_dir)
    return structs.replace(result, made=to_session_copy(copy))


def replace_repaired(
    target: SessionTarget,
    session: Session,
    draft: Draft,
    treatments: Sequence[Treatment],
    *,
    force: bool = False,
) -> str:
    """Replace a session with its repaired version, and return the name of the change."""
    size = max((item.end for item in session.file.items), default=0)
    record = replace_transcript(
        target,
        draft.iterate_lines,
        Undo(data_dir() / "undo"),
        verb="repair",
        words=f"{target.session_id}: {', '.join(item.kind for item in treatments if item.done)}",
        expected=session.file.source.make_checkpoint(size),
        force=force,
    )
    return record.name
