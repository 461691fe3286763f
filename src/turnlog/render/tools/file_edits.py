"""Cards for written and edited files, shown as differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turnlog.render.card import CodeSection, DiffSection, PlainSection, Section
from turnlog.render.figures import format_count
from turnlog.render.tools.card_parts import CardParts, CardSource, SectionList, show_failure
from turnlog.render.tools.generic_tools import show_input, show_result
from turnlog.render.values import Json, format_scalar, pick_text, to_dict_list, to_short_line
from turnlog.session.files.changes import FileChange, build_edit_change, build_write_change
from turnlog.session.files.patches import Hunk, compare_texts

NO_PLACE_NOTE = "line numbers count from the start of the replaced text"


def build_write_parts(work: CardSource) -> CardParts:
    """Build the card parts for Write: a new file, or new content."""
    path = work.find_path("file_path", "path")
    content = pick_text(work.record.get("content"), work.input_fields.get("content"))
    change = build_write_change(work.input_fields, work.record, None) if work.outcome == "answered" else None
    if change is not None and change.hunks is not None:
        return _build_change_parts(work, path, change)
    sections: SectionList = (CodeSection(content, path),) if content else ()
    if not sections and isinstance(work.input_fields.get("content"), str):
        sections = (PlainSection("An empty file.", "", "note"),)
    return _build_proposal_parts(work, sections, [format_count(_count_lines(content), "line")] if content else [])


def build_edit_parts(work: CardSource) -> CardParts:
    """Build the card parts for Edit and MultiEdit: replaced text."""
    path = work.find_path("file_path", "path")
    change = (
        build_edit_change(work.input_fields, work.record, None, absent=False) if work.outcome == "answered" else None
    )
    if change is not None and change.hunks:
        return _build_change_parts(work, path, change)
    edits = to_dict_list(work.input_fields.get("edits")) or [work.input_fields]
    hunks = [hunk for item in edits for hunk in _build_edit_hunks(item)]
    created = len(edits) == 1 and edits[0].get("old_string") == ""
    sections = [DiffSection(path, tuple(hunks), created, "" if created else NO_PLACE_NOTE)] if hunks else []
    return _build_proposal_parts(work, sections, _format_line_sums(hunks))


def _build_edit_hunks(item: Json) -> tuple[Hunk, ...]:
    old, new = item.get("old_string"), item.get("new_string")
    return _compare_texts(old, new) if isinstance(old, str) and isinstance(new, str) else ()


def _compare_texts(old: str, new: str) -> tuple[Hunk, ...]:
    end = "" if old.endswith("\n") or new.endswith("\n") else "\n"  # part of a line can't lack a line ending
    return compare_texts(old + end if old else "", new + end if new else "")


def _build_change_parts(work: CardSource, path: str, change: FileChange) -> CardParts:
    """Build the card parts for a change that was made."""
    path = path or pick_text(work.record.get("filePath"))
    hunks = change.hunks or ()
    badges = [*_format_line_sums(hunks), *(["new file"] if change.created else []), *_iter_edit_badges(work)]
    if not hunks:
        section: Section = PlainSection(
            "An empty file." if change.created else "The content did not change.", "", "note"
        )
    else:
        section = DiffSection(path, hunks, change.created, change.note or "")
    return CardParts((), (section,), badges)


def _build_proposal_parts(work: CardSource, sections: SectionList, badges: Iterable[str]) -> CardParts:
    """Build the card parts for a requested change; the result shows whether it was made."""
    asked = sections or show_input(work.detail.input)
    return CardParts(asked, _show_result(work), [*badges, *_iter_edit_badges(work)])


def _show_result(work: CardSource) -> SectionList:
    if work.outcome == "unanswered":
        return ()
    return show_failure(work) if work.outcome != "answered" else show_result(work)


def _iter_edit_badges(work: CardSource) -> Iterator[str]:
    if work.record.get("userModified") is True:
        yield "changed by the user"
    if work.input_fields.get("replace_all") is True:
        yield "everywhere"


def _format_line_sums(hunks: Iterable[Hunk]) -> list[str]:
    signs = [row[:1] for hunk in hunks for row in hunk.lines]
    added, removed = signs.count("+"), signs.count("-")
    return [" ".join(part for part in (f"+{added:,}" * bool(added), f"−{removed:,}" * bool(removed)) if part)] * bool(
        added or removed
    )


def _count_lines(content: str) -> int:
    return content.removesuffix("\n").count("\n") + 1


# -- notebooks


def build_notebook_parts(work: CardSource) -> CardParts:
    """Build the card parts for NotebookEdit: one cell."""
    fields, record = work.input_fields, work.record
    path = work.find_path("notebook_path", "file_path")
    cell = pick_text(fields.get("cell_id"), record.get("cell_id")) or format_scalar(fields.get("cell_number"))
    mode = pick_text(fields.get("edit_mode"), record.get("edit_mode")) or "replace"
    new = pick_text(fields.get("new_source"), record.get("new_source"))
    badges = [to_short_line(f"{mode} cell {cell}" if cell not in ("", "none") else mode, 60)]
    sections = _show_cell(path, mode, pick_text(record.get("old_source")), new, _find_language(work))
    if error := pick_text(record.get("error")):
        return CardParts(sections, (PlainSection(error, "", "error"),), badges)
    if work.outcome == "answered" and sections:
        return CardParts((), sections, badges)
    return CardParts(sections, _show_result(work), badges)


def _show_cell(path: str, mode: str, old: str, new: str, language: str) -> SectionList:
    hunks = _compare_texts(old, "" if mode == "delete" else new) if old else ()
    if hunks:
        return (DiffSection(path, hunks, False, NO_PLACE_NOTE),)
    return (CodeSection(new, language),) if new and mode != "delete" else ()


def _find_language(work: CardSource) -> str:
    kind = pick_text(work.input_fields.get("cell_type"), work.record.get("cell_type"))
    return "markdown" if kind == "markdown" else to_short_line(pick_text(work.record.get("language")) or "python", 40)
