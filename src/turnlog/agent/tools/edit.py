"""Edit: a string in a file gives way to another."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from turnlog.agent.tools.call_result import CallResult, Object, RejectedCall
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.patch import build_patch
from turnlog.agent.tools.seen_files import (
    CHANGED_FILE_TEXT,
    UNREAD_FILE_TEXT,
    SeenFiles,
    describe_missing_file,
    locate_file,
)
from turnlog.agent.tools.text_file import TextFile, TextSplice, store_text_file
from turnlog.agent.tools.tool import CallContext
from turnlog.agent.tools.write import CURRENT_STATE_REMARK, load_existing_file, trim_line_ends

_STRAIGHT_QUOTES = str.maketrans("‘’“”", "''\"\"")
_QUOTE_OPENING_CHARACTERS = frozenset(" \t\n\r([{—–")
_STALE_REMARK = (
    " (note: the file had been modified on disk since you last read it — the edit applied cleanly, but the file"
    " contains other changes not in your context. Read it before edits that depend on surrounding content.)"
)


class EditRequest(NamedTuple):
    """What is to give way to what."""

    old: str
    new: str
    everywhere: bool


class Edit(DescribedTool):
    """The tool."""

    def run(self, given: Object, scene: CallContext) -> CallResult:
        """Edit it."""
        path = locate_file(given["file_path"], scene.place)
        wish = _parse_edit_request(given, path)
        before = load_existing_file(path)
        if before is None:
            if wish.old:
                raise RejectedCall(describe_missing_file(path, scene.place))
            return _create_file(path, given["file_path"], wish, scene.files)
        return _apply_edit(before, path, given, wish, scene)


def _parse_edit_request(given: Object, path: Path) -> EditRequest:
    old, new = (given[key].replace("\r\n", "\n") for key in ("old_string", "new_string"))
    new = trim_line_ends(new, path)
    if old == new:
        raise RejectedCall("No changes to make: old_string and new_string are exactly the same.")
    if path.suffix.lower() == ".ipynb":
        raise RejectedCall("File is a Jupyter Notebook. Use the NotebookEdit to edit this file.")
    return EditRequest(old, new, bool(given.get("replace_all")))


def _create_file(path: Path, shown: str, wish: EditRequest, files: SeenFiles) -> CallResult:
    files.note_seen(path, store_text_file(path, wish.new, None), wish.new, is_written=True)
    return _build_result(shown, "", wish.new, wish, CURRENT_STATE_REMARK, {})


def preview_edit(before: TextFile | None, given: Object, path: Path) -> str:
    """The text that a call would leave in a file, as it would stand there; Unfit if it would not be made."""
    wish = _parse_edit_request(given, path)
    if before is None and wish.old:
        raise RejectedCall("there is no such file")
    if before is None:
        return wish.new
    wish = wish._replace(old=_find_old_string(before.text, wish, given["old_string"], stale=False))
    return before.apply_splices(_build_splices(before.text, wish))


def _apply_edit(before: TextFile, path: Path, given: Object, wish: EditRequest, scene: CallContext) -> CallResult:
    stale = _is_stale_file(before, path, wish, scene.files)
    found = _find_old_string(before.text, wish, given["old_string"], stale=stale)
    before.check_writable(RejectedCall)
    wish = wish._replace(old=found)
    splices = _build_splices(before.text, wish)
    text = before.apply_splices(splices)
    whole = not before.shown_text or (scene.files.is_seen_whole(path) and not stale)
    after = text.replace("\r\n", "\n")
    scene.files.note_seen(path, store_text_file(path, text, before), after if whole else None, is_written=True)
    extra = {"staleRecovered": True} if stale else {}
    extra |= {} if whole else {"contentNotInModelContext": True}
    return _build_result(
        given["file_path"],
        before.text,
        after,
        wish,
        _STALE_REMARK if stale else CURRENT_STATE_REMARK if whole else "",
        extra,
    )


def _is_stale_file(before: TextFile, path: Path, wish: EditRequest, files: SeenFiles) -> bool:
    """Whether the file changed since it was read; it must have been, unless there is nothing in it."""
    if not wish.old:
        if before.shown_text.strip():
            raise RejectedCall("Cannot create new file - file already exists.")
        return False
    if not files.is_seen(path):
        raise RejectedCall(UNREAD_FILE_TEXT)
    return files.is_changed(path, before.status, before.text)


def _find_old_string(text: str, wish: EditRequest, given: str, *, stale: bool) -> str:
    """Give the string as it stands in the file: its quotes may be curly there."""
    found = wish.old
    if wish.old not in text:
        at = text.translate(_STRAIGHT_QUOTES).find(wish.old.translate(_STRAIGHT_QUOTES))
        if at < 0:
            raise RejectedCall(CHANGED_FILE_TEXT if stale else f"String to replace not found in file.\nString: {given}")
        found = text[at : at + len(wish.old)]
    count = text.count(found) if found else 1
    if count > 1 and not wish.everywhere:
        raise RejectedCall(
            f"Found {count} matches of the string to replace, but replace_all is false. To replace all occurrences,"
            " set replace_all to true. To replace only one occurrence, please provide more context to uniquely"
            f" identify the instance.\nString: {given}"
        )
    return found


def _build_splices(text: str, wish: EditRequest) -> list[TextSplice]:
    old, new = wish.old, _curl_quotes(wish.new, wish.old)
    if not old:
        return [TextSplice(0, len(text), new)]
    if not new and not old.endswith("\n") and old + "\n" in text:
        old += "\n"  # no empty line stays where lines are taken out
    spots = [found.start() for found in re.finditer(re.escape(old), text)]
    return [TextSplice(at, at + len(old), new) for at in (spots if wish.everywhere else spots[:1])]


def _curl_quotes(new: str, old: str) -> str:
    """Write quotes as the replaced text has them."""
    if "“" in old or "”" in old:
        new = re.sub('"', lambda found: "“" if _opens_quote(new, found.start()) else "”", new)
    if "‘" in old or "’" in old:
        new = re.sub("'", lambda found: "‘" if _opens_quote(new, found.start()) else "’", new)
    return new


def _opens_quote(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] in _QUOTE_OPENING_CHARACTERS


def _build_result(shown: str, before: str, after: str, wish: EditRequest, remark: str, extra: Object) -> CallResult:
    deed = ". All occurrences were successfully replaced." if wish.everywhere else " successfully."
    structured = {
        "filePath": shown,
        "oldString": wish.old,
        "newString": wish.new,
        "originalFile": before,
        "structuredPatch": build_patch(before, after),
        "userModified": False,
        "replaceAll": wish.everywhere,
        **extra,
    }
    return CallResult(f"The file {shown} has been updated{deed}{remark}", structured)
