"""Edit: replaces a string in a file."""

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
    hold_file,
)
from turnlog.agent.tools.text_file import TextFile, TextSplice, store_text_file
from turnlog.agent.tools.tool import CallContext
from turnlog.agent.tools.write import CURRENT_STATE_REMARK, load_existing_file, trim_line_ends
from turnlog.entries.pinned_file import PinnedFile

_STRAIGHT_QUOTES = str.maketrans("‘’“”", "''\"\"")
_QUOTE_OPENING_CHARACTERS = frozenset(" \t\n\r([{—–")
_STALE_REMARK = (
    " (note: the file had been modified on disk since you last read it — the edit applied cleanly, but the file"
    " contains other changes not in your context. Read it before edits that depend on surrounding content.)"
)


class EditRequest(NamedTuple):
    """The string to replace and its replacement."""

    old: str
    new: str
    everywhere: bool


class Edit(DescribedTool):
    def run(self, arguments: Object, context: CallContext) -> CallResult:
        file = hold_file(arguments["file_path"], context.place, "write")
        request = _parse_edit_request(arguments, file.path)
        before = load_existing_file(file)
        if before is None:
            if request.old:
                raise RejectedCall(describe_missing_file(file.path, context.place))
            return _create_file(file, arguments["file_path"], request, context)
        return _apply_edit(before, file, arguments, request, context)


def _parse_edit_request(arguments: Object, path: Path) -> EditRequest:
    old, new = (arguments[key].replace("\r\n", "\n") for key in ("old_string", "new_string"))
    new = trim_line_ends(new, path)
    if old == new:
        raise RejectedCall("No changes to make: old_string and new_string are exactly the same.")
    if path.suffix.lower() == ".ipynb":
        raise RejectedCall("File is a Jupyter Notebook. Use the NotebookEdit to edit this file.")
    return EditRequest(old, new, bool(arguments.get("replace_all")))


def _create_file(file: PinnedFile, display_path: str, request: EditRequest, context: CallContext) -> CallResult:
    context.keep_before_change(file.path)
    context.files.note_seen(file.path, store_text_file(file, request.new, None), request.new, is_written=True)
    return _build_result(display_path, "", request.new, request, CURRENT_STATE_REMARK, {})


def preview_edit(before: TextFile | None, arguments: Object, path: Path) -> str:
    """Return the text that the file would have after a call; raise RejectedCall if the call would fail."""
    request = _parse_edit_request(arguments, path)
    if before is None and request.old:
        raise RejectedCall("the file does not exist")
    if before is None:
        return request.new
    request = request._replace(old=_find_old_string(before.text, request, arguments["old_string"], stale=False))
    return before.apply_splices(_build_splices(before.text, request))


def _apply_edit(
    before: TextFile, file: PinnedFile, arguments: Object, request: EditRequest, context: CallContext
) -> CallResult:
    path = file.path
    stale = _is_stale_file(before, path, request, context.files)
    found = _find_old_string(before.text, request, arguments["old_string"], stale=stale)
    before.check_writable(RejectedCall)
    request = request._replace(old=found)
    splices = _build_splices(before.text, request)
    text = before.apply_splices(splices)
    whole = not before.shown_text or (context.files.is_seen_whole(path) and not stale)
    after = text.replace("\r\n", "\n")
    context.keep_before_change(path)
    context.files.note_seen(path, store_text_file(file, text, before), after if whole else None, is_written=True)
    extra = {"staleRecovered": True} if stale else {}
    extra |= {} if whole else {"contentNotInModelContext": True}
    return _build_result(
        arguments["file_path"],
        before.text,
        after,
        request,
        _STALE_REMARK if stale else CURRENT_STATE_REMARK if whole else "",
        extra,
    )


def _is_stale_file(before: TextFile, path: Path, request: EditRequest, files: SeenFiles) -> bool:
    """Return whether the file has changed since it was read; raise RejectedCall if a non-empty file was never read."""
    if not request.old:
        if before.shown_text.strip():
            raise RejectedCall("Cannot create new file - file already exists.")
        return False
    if not files.is_seen(path):
        raise RejectedCall(UNREAD_FILE_TEXT)
    return files.is_changed(path, before.status, before.text)


def _find_old_string(text: str, request: EditRequest, original: str, *, stale: bool) -> str:
    """Return the string as it appears in the file, where its quotes may be curly."""
    found = request.old
    if request.old not in text:
        at = text.translate(_STRAIGHT_QUOTES).find(request.old.translate(_STRAIGHT_QUOTES))
        if at < 0:
            raise RejectedCall(
                CHANGED_FILE_TEXT if stale else f"String to replace not found in file.\nString: {original}"
            )
        found = text[at : at + len(request.old)]
    count = text.count(found) if found else 1
    if count > 1 and not request.everywhere:
        raise RejectedCall(
            f"Found {count} matches of the string to replace, but replace_all is false. To replace all occurrences,"
            " set replace_all to true. To replace only one occurrence, please provide more context to uniquely"
            f" identify the instance.\nString: {original}"
        )
    return found


def _build_splices(text: str, request: EditRequest) -> list[TextSplice]:
    old, new = request.old, _curl_quotes(request.new, request.old)
    if not old:
        return [TextSplice(0, len(text), new)]
    if not new and not old.endswith("\n") and old + "\n" in text:
        old += "\n"  # don't leave an empty line where lines are removed
    spots = [found.start() for found in re.finditer(re.escape(old), text)]
    return [TextSplice(at, at + len(old), new) for at in (spots if request.everywhere else spots[:1])]


def _curl_quotes(new: str, old: str) -> str:
    """Use curly quotes in the new text if the replaced text does."""
    if "“" in old or "”" in old:
        new = re.sub('"', lambda found: "“" if _opens_quote(new, found.start()) else "”", new)
    if "‘" in old or "’" in old:
        new = re.sub("'", lambda found: "‘" if _opens_quote(new, found.start()) else "’", new)
    return new


def _opens_quote(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] in _QUOTE_OPENING_CHARACTERS


def _build_result(
    display_path: str, before: str, after: str, request: EditRequest, remark: str, extra: Object
) -> CallResult:
    outcome = ". All occurrences were successfully replaced." if request.everywhere else " successfully."
    structured = {
        "filePath": display_path,
        "oldString": request.old,
        "newString": request.new,
        "originalFile": before,
        "structuredPatch": build_patch(before, after),
        "userModified": False,
        "replaceAll": request.everywhere,
        **extra,
    }
    return CallResult(f"The file {display_path} has been updated{outcome}{remark}", structured)
