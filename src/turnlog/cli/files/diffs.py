"""A session's changes of files as a patch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from turnlog.cli import when
from turnlog.cli.files.touched import FileFilter, is_glob_match, to_session_path
from turnlog.cli.terminal import to_visible_line
from turnlog.session.files.contents import encode_file_text
from turnlog.session.files.edits import FileStep, list_file_steps
from turnlog.session.files.patches import format_unified_diff

if TYPE_CHECKING:
    from turnlog.session.session import Session


def find_file_changes(session: Session, wish: FileFilter) -> Iterator[FileStep]:
    """What wrote and edited the wanted files, in order of time."""
    return (
        step
        for step in list_file_steps(session, lambda path: is_glob_match(path, wish.glob))
        if step.action in ("write", "edit")
    )


def render_patch(session: Session, step: FileStep) -> Iterator[bytes]:
    """The lines of one change; those that begin with # are passed over by `patch` and `git apply`."""
    yield encode_file_text(f"# {to_visible_line(_describe_change(session, step))}\n")
    for note in _list_notes(step):
        yield encode_file_text(f"# {to_visible_line(note)}\n")
    if step.hunks:
        place = to_patch_path(to_session_path(step.path, session))
        yield from (
            encode_file_text(text + "\n") for text in format_unified_diff(place, step.hunks, created=step.created)
        )
    yield b"\n"


def to_patch_path(path: str) -> str:
    """A path below the folder in which a patch is applied."""
    return path.replace("\\", "/").replace(":", "").lstrip("/")


def _describe_change(session: Session, step: FileStep) -> str:
    turn = f"turn {step.turn.number}" if step.turn else "no turn"
    who = f" by {step.agent.type or step.agent.kind} {step.agent.agent_id}" if step.agent else ""
    return f"{step.source}, {turn}{who}, {when.format_client_time(step.time)}: {to_session_path(step.path, session)}"


def _list_notes(step: FileStep) -> Iterator[str]:
    if step.user_modified:
        yield "A person changed what the model had proposed; this is what was written."
    if step.hunks is None:
        yield f"Can't be rebuilt: {step.note}."
    elif step.note:
        yield f"Perhaps not exact: {step.note}."
    elif not step.hunks:
        yield "Nothing changed: an empty file was made." if step.created else "Nothing changed."


def to_file_change_document(session: Session, step: FileStep) -> dict[str, Any]:
    """One change as JSON."""
    place = to_patch_path(to_session_path(step.path, session))
    lines = format_unified_diff(place, step.hunks, created=step.created) if step.hunks else ()
    return {
        "path": step.path,
        "turn": step.turn.number if step.turn else None,
        "time": step.time,
        "tool": step.source,
        "call_id": step.call_id,
        "agent_id": step.agent.agent_id if step.agent else None,
        "created": step.created,
        "user_modified": step.user_modified,
        "source": step.rebuilt_from,
        "before_known": step.before is not None or step.created,
        "note": step.note,
        "patch": None if step.hunks is None else "".join(f"{text}\n" for text in lines),
    }
