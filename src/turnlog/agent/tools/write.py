"""Write: creates or replaces a whole file."""

from __future__ import annotations

import re
from pathlib import Path

from turnlog.agent.tools.call_result import CallResult, Object, RejectedCall, ToolError
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.patch import build_patch
from turnlog.agent.tools.seen_files import CHANGED_FILE_TEXT, UNREAD_FILE_TEXT, MissingFile, SeenFiles, hold_file
from turnlog.agent.tools.text_file import TextFile, load_text_file, store_text_file
from turnlog.agent.tools.tool import CallContext
from turnlog.entries.pinned_file import PinnedFile

CURRENT_STATE_REMARK = " (file state is current in your context — no need to Read it back)"
_TRAILING_SPACE_PATTERN = re.compile(r"[^\S\n]+(?=\n|$)")


class Write(DescribedTool):
    def run(self, arguments: Object, context: CallContext) -> CallResult:
        display_path = arguments["file_path"]
        file = hold_file(display_path, context.place, "write")
        path = file.path
        if file.real.is_dir():
            raise RejectedCall(
                f"{display_path} is a directory, not a file. To create a file inside it, include the file name in"
                " file_path."
            )
        content = trim_line_ends(arguments["content"], path)
        before = load_existing_file(file)
        if before is not None:
            _check_is_known(before, path, context.files)
        text = preview_write(before, arguments, path)
        context.keep_before_change(path)
        context.files.note_seen(path, store_text_file(file, text, before), text.replace("\r\n", "\n"), is_written=True)
        return _build_result(display_path, content, before)


def trim_line_ends(text: str, path: Path) -> str:
    """Strip spaces at line ends, except in Markdown, where they are significant."""
    return text if path.suffix.lower() in (".md", ".mdx") else _TRAILING_SPACE_PATTERN.sub("", text)


def preview_write(before: TextFile | None, arguments: Object, path: Path) -> str:
    """Return the text that the file would have after a call."""
    content = trim_line_ends(arguments["content"], path)
    return before.replace_text(content) if before else content


def load_existing_file(file: PinnedFile | Path) -> TextFile | None:
    """Read a file; return None if it does not exist."""
    try:
        return load_text_file(file)
    except MissingFile:
        return None


def _check_is_known(before: TextFile, path: Path, files: SeenFiles) -> None:
    if not files.is_seen(path):
        raise RejectedCall(UNREAD_FILE_TEXT)
    if files.is_changed(path, before.status, before.text):
        raise RejectedCall(CHANGED_FILE_TEXT)
    before.check_writable(ToolError)


def _build_result(display_path: str, content: str, before: TextFile | None) -> CallResult:
    if before is None:
        message = f"File created successfully at: {display_path}{CURRENT_STATE_REMARK}"
    else:
        message = f"The file {display_path} has been updated successfully.{CURRENT_STATE_REMARK}"
    structured = {
        "type": "update" if before else "create",
        "filePath": display_path,
        "content": content,
        "structuredPatch": build_patch(before.shown_text, content) if before else [],
        "originalFile": before.text if before else None,
        "userModified": False,
    }
    return CallResult(message, structured)
