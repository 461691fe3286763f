"""A session's changes of files as a patch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from turnlog.cli import when
from turnlog.cli.files.touched import Wish, fits, inside
from turnlog.cli.terminal import line
from turnlog.session.files.contents import encoded
from turnlog.session.files.edits import Step, steps
from turnlog.session.files.patches import unified

if TYPE_CHECKING:
    from turnlog.session.session import Session


def changes(session: Session, wish: Wish) -> Iterator[Step]:
    """What wrote and edited the wanted files, in order of time."""
    return (step for step in steps(session, lambda path: fits(path, wish.glob)) if step.action in ("write", "edit"))


def patch(session: Session, step: Step) -> Iterator[bytes]:
    """The lines of one change; those that begin with # are passed over by `patch` and `git apply`."""
    yield encoded(f"# {line(_title(session, step))}\n")
    for note in _notes(step):
        yield encoded(f"# {line(note)}\n")
    if step.hunks:
        place = relative(inside(step.path, session))
        yield from (encoded(text + "\n") for text in unified(place, step.hunks, created=step.created))
    yield b"\n"


def relative(path: str) -> str:
    """A path below the folder in which a patch is applied."""
    return path.replace("\\", "/").replace(":", "").lstrip("/")


def _title(session: Session, step: Step) -> str:
    turn = f"turn {step.turn.number}" if step.turn else "no turn"
    who = f" by {step.agent.type or step.agent.kind} {step.agent.agent_id}" if step.agent else ""
    return f"{step.source}, {turn}{who}, {when.local(step.time)}: {inside(step.path, session)}"


def _notes(step: Step) -> Iterator[str]:
    if step.user_modified:
        yield "A person changed what the model had proposed; this is what was written."
    if step.hunks is None:
        yield f"Can't be rebuilt: {step.note}."
    elif step.note:
        yield f"Perhaps not exact: {step.note}."
    elif not step.hunks:
        yield "Nothing changed: an empty file was made." if step.created else "Nothing changed."


def document(session: Session, step: Step) -> dict[str, Any]:
    """One change as JSON."""
    place = relative(inside(step.path, session))
    lines = unified(place, step.hunks, created=step.created) if step.hunks else ()
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
