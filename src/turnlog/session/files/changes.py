"""What one call changed in a file: the text before, the text after, and the difference.

The client records a patch for people to look at, in which leading tabs are spaces; often the file before; and the
strings that were replaced, as they were found. None of them is always there, so each is used where it fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from turnlog.session.files.contents import Content, content, formed
from turnlog.session.files.patches import Hunk, applied, compared, recorded

Json = dict[str, Any]
Source = Literal["patch", "texts", "none"]
"""Where a difference comes from: the client's own patch, the texts before and after, or nowhere."""

UNKNOWN_BEFORE = "what the file held before is not in the session"
NO_TEXT = "the call does not say what was written"
NOT_FOUND = "the text to be replaced is not in what is known of the file"
TABS = "the client wrote leading tabs as spaces; the context lines are a guess"
NOTEBOOK = "the notebook before and after is not in the result"
_TABS = re.compile(r"^\t+", re.MULTILINE)
_PAIRS = re.compile(r"^(?:  )+")


class Change(NamedTuple):
    """What a call changed."""

    before: Content | None
    """None: not known, or there was no file."""
    after: Content | None
    hunks: tuple[Hunk, ...] | None
    """None: can't be rebuilt."""
    source: Source
    created: bool = False
    note: str | None = None


class Replacement(NamedTuple):
    """A string that was replaced by another."""

    old: str
    new: str
    everywhere: bool


def written(given: Any, structured: Any, known: Content | None) -> Change:
    """What a Write changed."""
    result = _fields(structured)
    text = _text(result.get("content"), _fields(given).get("content"))
    original = _text(result.get("originalFile"))
    created = result.get("type") == "create" and original is None
    hunks = recorded(result.get("structuredPatch"))
    before = None if created else _before(original, known, hunks)
    if text is None:
        return Change(before, None, None, "none", created, NO_TEXT)
    after = content(_with_ends(text, original or ""))
    if created or before is not None:
        return _between(before, after)
    if not hunks:
        return Change(None, after, None, "none", note=UNKNOWN_BEFORE)
    return Change(None, after, hunks, "patch", note=TABS if _TABS.search(text) else None)


def _with_ends(text: str, original: str) -> str:
    """A text with the line ends that it was written with.

    Clients that record a file with its `\\r` (2.1.29 is one) also give a text that is written over it such line ends,
    even where it has them already; newer ones record and write texts as they are.
    """
    crlf = original.count("\r\n")
    return text.replace("\n", "\r\n") if crlf > original.count("\n") - crlf else text


def edited(given: Any, structured: Any, known: Content | None, *, absent: bool) -> Change:
    """What an Edit or MultiEdit changed; `absent`: there was no such file, as far as is known."""
    result = _fields(structured)
    original = _text(result.get("originalFile"), result.get("originalFileContents"))
    hunks = recorded(result.get("structuredPatch"))
    before = _before(original, known, hunks)
    replaced = _replacements(result) or _replacements(_fields(given))
    if _creates(replaced, before, absent):
        return _between(None, content(replaced[0].new))
    if before is None:
        if not hunks:
            return Change(None, None, None, "none", note=UNKNOWN_BEFORE)
        return _patch_alone(hunks, replaced)
    patched = applied(before.text, hunks) if hunks else None
    text = _after(_replace(before.text, replaced), patched)
    if text is None:
        return Change(before, None, hunks or None, "patch" if hunks else "none", note=NOT_FOUND)
    after = Content(text, before.form)
    if hunks and text == patched and not before.form.crlf and not before.form.mark:
        return Change(before, after, hunks, "patch")
    return _between(before, after)


def _before(original: str | None, known: Content | None, hunks: tuple[Hunk, ...] | None) -> Content | None:
    """What a change found: what the result says, else what was known, unless the recorded patch does not fit that."""
    if original is not None:
        return formed(original, known)
    is_stale = known is not None and hunks and applied(_spaced(known.text), hunks) is None
    return None if is_stale else known


def noted(structured: Any, known: Content | None) -> Change:
    """What a NotebookEdit changed."""
    result = _fields(structured)
    before, after = _text(result.get("original_file")), _text(result.get("updated_file"))
    if before is None or after is None:
        return Change(known, None, None, "none", note=NOTEBOOK)
    old = formed(before, known)
    return _between(old, Content(content(after).text, old.form))


def commanded(item: Json, known: Content | None) -> Change:
    """What a command changed, as far as the client watched it."""
    hunks, created = recorded(item.get("hunks")), item.get("created") is True
    before = None if created else known
    if not hunks:
        return Change(before, None, None, "none", created, "what the command wrote is not in the session")
    text = applied("" if created else before.text if before else "", hunks) if created or before else None
    if text is None:
        return Change(before, None, hunks, "patch", created)
    return Change(before, Content(text, before.form) if before else content(text), hunks, "patch", created)


def _between(before: Content | None, after: Content) -> Change:
    hunks = compared(before.written if before else "", after.written)
    return Change(before, after, hunks, "texts", before is None)


def _creates(replaced: list[Replacement], before: Content | None, absent: bool) -> bool:
    """Whether an edit made the file: it replaces nothing, where nothing was."""
    return bool(replaced) and replaced[0].old == "" and (absent or before is None or before.text == "")


def _replacements(fields: Json) -> list[Replacement]:
    """The strings that were replaced, from a result or an input."""
    edits = fields.get("edits")
    found = [_replacement(item) for item in (edits if isinstance(edits, list) else [fields])]
    return [item for item in found if item is not None]


def _replacement(item: Any) -> Replacement | None:
    fields = _fields(item)
    old, new = _text(fields.get("oldString"), fields.get("old_string")), None
    if old is not None:
        new = _text(fields.get("newString"), fields.get("new_string"))
    if old is None or new is None:
        return None
    everywhere = fields.get("replaceAll", fields.get("replace_all")) is True
    return Replacement(old.replace("\r\n", "\n"), new.replace("\r\n", "\n"), everywhere)


def _replace(text: str, replaced: Iterable[Replacement]) -> str | None:
    """A text with strings replaced the way the client does it; None when one of them is not there."""
    done = False
    for old, new, everywhere in replaced:
        if not old or old not in text:
            return None
        if not new and not old.endswith("\n") and old + "\n" in text:
            old += "\n"  # what is taken away takes its line end with it
        text = text.replace(old, new) if everywhere else text.replace(old, new, 1)
        done = True
    return text if done else None


def _after(text: str | None, patched: str | None) -> str | None:
    """The text after an edit, from the strings that were replaced and from the patch, either of which may not fit."""
    if text is None or patched is None:
        return patched if text is None else text
    return text if _spaced(text) == _spaced(patched) else patched


def _patch_alone(hunks: tuple[Hunk, ...], replaced: list[Replacement]) -> Change:
    """The recorded patch of a file that is not known otherwise."""
    tabbed = {_spaced(line): line for item in replaced for line in f"{item.old}\n{item.new}".split("\n")}
    if all(spaced == line for spaced, line in tabbed.items()):
        return Change(None, None, hunks, "patch")
    fixed = tuple(hunk._replace(lines=tuple(_tabbed(line, tabbed) for line in hunk.lines)) for hunk in hunks)
    return Change(None, None, fixed, "patch", note=TABS)


def _tabbed(line: str, tabbed: dict[str, str]) -> str:
    body = line[1:]
    return line[0] + (tabbed.get(body) or _PAIRS.sub(lambda pairs: "\t" * (len(pairs[0]) // 2), body))


def _spaced(text: str) -> str:
    """A text with leading tabs as the client's patch has them."""
    return _TABS.sub(lambda tabs: "  " * len(tabs[0]), text)


def _fields(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _text(*values: object) -> str | None:
    return next((value for value in values if isinstance(value, str)), None)
