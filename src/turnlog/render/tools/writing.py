"""Files that were written and edited, as differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turnlog.render.card import Code, Diff, Plain, Section
from turnlog.render.figures import count
from turnlog.render.tools.anything import asked as asked_anyhow
from turnlog.render.tools.anything import results
from turnlog.render.tools.work import Parts, Sections, Work, failure
from turnlog.render.values import Json, line, objects, scalar, text
from turnlog.session.files.changes import Change, edited, written
from turnlog.session.files.patches import Hunk, compared

NO_PLACE = "the lines are counted from where the replaced text begins"


def write(work: Work) -> Parts:
    """Write: a new file, or a new content."""
    path = work.path("file_path", "path")
    content = text(work.record.get("content"), work.given.get("content"))
    change = written(work.given, work.record, None) if work.outcome == "answered" else None
    if change is not None and change.hunks is not None:
        return _changed(work, path, change)
    shown: Sections = (Code(content, path),) if content else ()
    if not shown and isinstance(work.given.get("content"), str):
        shown = (Plain("An empty file.", "", "note"),)
    return _proposed(work, path, shown, [count(_lines(content), "line")] if content else [])


def edit(work: Work) -> Parts:
    """Edit and MultiEdit: texts replaced by others."""
    path = work.path("file_path", "path")
    change = edited(work.given, work.record, None, absent=False) if work.outcome == "answered" else None
    if change is not None and change.hunks:
        return _changed(work, path, change)
    edits = objects(work.given.get("edits")) or [work.given]
    hunks = [hunk for item in edits for hunk in _replacing(item)]
    created = len(edits) == 1 and edits[0].get("old_string") == ""
    shown = [Diff(path, tuple(hunks), created, "" if created else NO_PLACE)] if hunks else []
    return _proposed(work, path, shown, _sums(hunks))


def _replacing(item: Json) -> tuple[Hunk, ...]:
    old, new = item.get("old_string"), item.get("new_string")
    return _between(old, new) if isinstance(old, str) and isinstance(new, str) else ()


def _between(old: str, new: str) -> tuple[Hunk, ...]:
    end = "" if old.endswith("\n") or new.endswith("\n") else "\n"  # parts of lines have no line end to lack
    return compared(old + end if old else "", new + end if new else "")


def _changed(work: Work, path: str, change: Change) -> Parts:
    """A change that was made."""
    path = path or text(work.record.get("filePath"))
    hunks = change.hunks or ()
    badges = [*_sums(hunks), *(["new file"] if change.created else []), *_by_person(work)]
    if not hunks:
        shown: Section = Plain("An empty file." if change.created else "The content is as before.", "", "note")
    else:
        shown = Diff(path, hunks, change.created, change.note or "")
    return Parts(work.titled(path), (), (shown,), badges)


def _proposed(work: Work, path: str, shown: Sections, badges: Iterable[str]) -> Parts:
    """A change that was asked for; whether it was made is told by the result."""
    asked = shown or asked_anyhow(work.detail.input)
    return Parts(work.titled(path), asked, _said(work), [*badges, *_by_person(work)])


def _said(work: Work) -> Sections:
    if work.outcome == "unanswered":
        return ()
    return failure(work) if work.outcome != "answered" else results(work)


def _by_person(work: Work) -> Iterator[str]:
    if work.record.get("userModified") is True:
        yield "changed by the person"
    if work.given.get("replace_all") is True:
        yield "everywhere"


def _sums(hunks: Iterable[Hunk]) -> list[str]:
    signs = [row[:1] for hunk in hunks for row in hunk.lines]
    added, removed = signs.count("+"), signs.count("-")
    return [" ".join(part for part in (f"+{added:,}" * bool(added), f"−{removed:,}" * bool(removed)) if part)] * bool(
        added or removed
    )


def _lines(content: str) -> int:
    return content.removesuffix("\n").count("\n") + 1


# -- notebooks


def notebook(work: Work) -> Parts:
    """NotebookEdit: one cell."""
    given, record = work.given, work.record
    path = work.path("notebook_path", "file_path")
    cell = text(given.get("cell_id"), record.get("cell_id")) or scalar(given.get("cell_number"))
    mode = text(given.get("edit_mode"), record.get("edit_mode")) or "replace"
    new = text(given.get("new_source"), record.get("new_source"))
    badges = [line(f"{mode} cell {cell}" if cell not in ("", "none") else mode, 60)]
    shown = _cell(path, mode, text(record.get("old_source")), new, _language(work))
    if told := text(record.get("error")):
        return Parts(work.titled(path), shown, (Plain(told, "", "error"),), badges)
    if work.outcome == "answered" and shown:
        return Parts(work.titled(path), (), shown, badges)
    return Parts(work.titled(path), shown, _said(work), badges)


def _cell(path: str, mode: str, old: str, new: str, language: str) -> Sections:
    hunks = _between(old, "" if mode == "delete" else new) if old else ()
    if hunks:
        return (Diff(path, hunks, False, NO_PLACE),)
    return (Code(new, language),) if new and mode != "delete" else ()


def _language(work: Work) -> str:
    kind = text(work.given.get("cell_type"), work.record.get("cell_type"))
    return "markdown" if kind == "markdown" else line(text(work.record.get("language")) or "python", 40)
