"""What one call changed in a file: the text before, the text after, and the difference.

The client records a patch for display, in which leading tabs are replaced with spaces; often the file before the
change; and the replaced strings as they were found. None of these is always present, so each is used where it fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from turnlog.session.files.contents import FileContent, restore_file_form, to_file_content
from turnlog.session.files.patches import Hunk, apply_hunks, compare_texts, read_recorded_hunks

Json = dict[str, Any]
ChangeSource = Literal["patch", "texts", "none"]
"""The source of a difference: the client's own patch, the text before and after, or none."""

UNKNOWN_BEFORE_NOTE = "the earlier content of the file is not in the session"
NO_TEXT_NOTE = "the call does not say what was written"
TEXT_NOT_FOUND_NOTE = "the text to replace is not in the known content of the file"
GUESSED_TABS_NOTE = "the client recorded leading tabs as spaces; the context lines are a guess"
NOTEBOOK_NOTE = "the result does not contain the notebook before and after"
_LEADING_TABS = re.compile(r"^\t+", re.MULTILINE)
_LEADING_SPACE_PAIRS = re.compile(r"^(?:  )+")


class FileChange(NamedTuple):
    """The change that a call made to a file."""

    before: FileContent | None
    """None if the content is unknown or there was no file."""
    after: FileContent | None
    hunks: tuple[Hunk, ...] | None
    """None if they can't be rebuilt."""
    source: ChangeSource
    created: bool = False
    note: str | None = None


class Replacement(NamedTuple):
    old: str
    new: str
    everywhere: bool


def build_write_change(arguments: Any, structured: Any, known: FileContent | None) -> FileChange:
    result = _to_fields(structured)
    text = _find_first_text(result.get("content"), _to_fields(arguments).get("content"))
    original = _find_first_text(result.get("originalFile"))
    created = result.get("type") == "create" and original is None
    hunks = read_recorded_hunks(result.get("structuredPatch"))
    before = None if created else _find_text_before(original, known, hunks)
    if text is None:
        return FileChange(before, None, None, "none", created, NO_TEXT_NOTE)
    after = to_file_content(_restore_line_ends(text, original or ""))
    if created or before is not None:
        return _compare_contents(before, after)
    if not hunks:
        return FileChange(None, after, None, "none", note=UNKNOWN_BEFORE_NOTE)
    return FileChange(None, after, hunks, "patch", note=GUESSED_TABS_NOTE if _LEADING_TABS.search(text) else None)


def _restore_line_ends(text: str, original: str) -> str:
    """Return the text with its original line ends.

    Clients that record a file with its `\\r` (such as 2.1.29) also give these line ends to any text that replaces the
    file, even if the text already has them; newer clients record and write text unchanged.
    """
    crlf = original.count("\r\n")
    return text.replace("\n", "\r\n") if crlf > original.count("\n") - crlf else text


def build_edit_change(arguments: Any, structured: Any, known: FileContent | None, *, absent: bool) -> FileChange:
    """Build the change made by an Edit or MultiEdit call; `absent` means that the file probably did not exist."""
    result = _to_fields(structured)
    original = _find_first_text(result.get("originalFile"), result.get("originalFileContents"))
    hunks = read_recorded_hunks(result.get("structuredPatch"))
    before = _find_text_before(original, known, hunks)
    replacements = _list_replacements(result) or _list_replacements(_to_fields(arguments))
    if _creates_file(replacements, before, absent):
        return _compare_contents(None, to_file_content(replacements[0].new))
    if before is None:
        if not hunks:
            return FileChange(None, None, None, "none", note=UNKNOWN_BEFORE_NOTE)
        return _build_patch_change(hunks, replacements)
    patched = apply_hunks(before.text, hunks) if hunks else None
    text = _choose_text_after(_apply_replacements(before.text, replacements), patched)
    if text is None:
        return FileChange(before, None, hunks or None, "patch" if hunks else "none", note=TEXT_NOT_FOUND_NOTE)
    after = FileContent(text, before.form)
    if hunks and text == patched and not before.form.crlf and not before.form.mark:
        return FileChange(before, after, hunks, "patch")
    return _compare_contents(before, after)


def _find_text_before(
    original: str | None, known: FileContent | None, hunks: tuple[Hunk, ...] | None
) -> FileContent | None:
    """Return the text before a change: the text in the result or, if the recorded patch fits it, the known text."""
    if original is not None:
        return restore_file_form(original, known)
    is_stale = known is not None and hunks and apply_hunks(_expand_tabs(known.text), hunks) is None
    return None if is_stale else known


def build_notebook_change(structured: Any, known: FileContent | None) -> FileChange:
    result = _to_fields(structured)
    before, after = _find_first_text(result.get("original_file")), _find_first_text(result.get("updated_file"))
    if before is None or after is None:
        return FileChange(known, None, None, "none", note=NOTEBOOK_NOTE)
    old = restore_file_form(before, known)
    return _compare_contents(old, FileContent(to_file_content(after).text, old.form))


def build_command_change(item: Json, known: FileContent | None) -> FileChange:
    """Build the part of a command's change that the client observed."""
    hunks, created = read_recorded_hunks(item.get("hunks")), item.get("created") is True
    before = None if created else known
    if not hunks:
        return FileChange(before, None, None, "none", created, "the session does not contain what the command wrote")
    text = apply_hunks("" if created else before.text if before else "", hunks) if created or before else None
    if text is None:
        return FileChange(before, None, hunks, "patch", created)
    return FileChange(
        before, FileContent(text, before.form) if before else to_file_content(text), hunks, "patch", created
    )


def _compare_contents(before: FileContent | None, after: FileContent) -> FileChange:
    hunks = compare_texts(before.file_text if before else "", after.file_text)
    return FileChange(before, after, hunks, "texts", before is None)


def _creates_file(replacements: list[Replacement], before: FileContent | None, absent: bool) -> bool:
    """Return whether an edit created the file: it replaces an empty string, and there was no text before."""
    return bool(replacements) and replacements[0].old == "" and (absent or before is None or before.text == "")


def _list_replacements(fields: Json) -> list[Replacement]:
    """List the replaced strings in a result or an input."""
    edits = fields.get("edits")
    found = [_read_replacement(item) for item in (edits if isinstance(edits, list) else [fields])]
    return [item for item in found if item is not None]


def _read_replacement(item: Any) -> Replacement | None:
    fields = _to_fields(item)
    old, new = _find_first_text(fields.get("oldString"), fields.get("old_string")), None
    if old is not None:
        new = _find_first_text(fields.get("newString"), fields.get("new_string"))
    if old is None or new is None:
        return None
    everywhere = fields.get("replaceAll", fields.get("replace_all")) is True
    return Replacement(old.replace("\r\n", "\n"), new.replace("\r\n", "\n"), everywhere)


def _apply_replacements(text: str, replacements: Iterable[Replacement]) -> str | None:
    """Replace strings as the client does; return None if one of them is missing."""
    has_changed = False
    for old, new, everywhere in replacements:
        if not old or old not in text:
            return None
        if not new and not old.endswith("\n") and old + "\n" in text:
            old += "\n"  # removing text also removes its line end
        text = text.replace(old, new) if everywhere else text.replace(old, new, 1)
        has_changed = True
    return text if has_changed else None


def _choose_text_after(text: str | None, patched: str | None) -> str | None:
    """Choose the text after an edit from the results of the replacements and the patch, either of which may not fit."""
    if text is None or patched is None:
        return patched if text is None else text
    return text if _expand_tabs(text) == _expand_tabs(patched) else patched


def _build_patch_change(hunks: tuple[Hunk, ...], replacements: list[Replacement]) -> FileChange:
    """Build the change to a file of unknown content from its recorded patch."""
    tabbed = {_expand_tabs(line): line for item in replacements for line in f"{item.old}\n{item.new}".split("\n")}
    if all(spaced == line for spaced, line in tabbed.items()):
        return FileChange(None, None, hunks, "patch")
    fixed = tuple(hunk._replace(lines=tuple(_restore_tabs(line, tabbed) for line in hunk.lines)) for hunk in hunks)
    return FileChange(None, None, fixed, "patch", note=GUESSED_TABS_NOTE)


def _restore_tabs(line: str, tabbed: dict[str, str]) -> str:
    body = line[1:]
    return line[0] + (tabbed.get(body) or _LEADING_SPACE_PAIRS.sub(lambda pairs: "\t" * (len(pairs[0]) // 2), body))


def _expand_tabs(text: str) -> str:
    """Replace leading tabs with spaces, as in the client's patches."""
    return _LEADING_TABS.sub(lambda tabs: "  " * len(tabs[0]), text)


def _to_fields(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _find_first_text(*values: object) -> str | None:
    return next((value for value in values if isinstance(value, str)), None)
