"""Informs the model about files that it wrote and that a formatter or a person has changed since then.

As in the newest Claude Code, files that the model only read are not covered; if it edits such a file, the edit itself
reports the change.
"""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.agent.tools.call_result import ToolError
from turnlog.agent.tools.patch import build_patch
from turnlog.agent.tools.seen_files import SeenFiles
from turnlog.agent.tools.text_file import load_text_file

MAX_SHOWN_LINES = 300
"""The maximum number of lines to show for a file."""
_CONTEXT_LINES = 8


def describe_file_changes(files: SeenFiles) -> Iterator[str]:
    """Describe each change once; after that, the file counts as seen in its new state."""
    for path, sight in files.list_written():
        try:
            status = path.stat()
            if (status.st_mtime_ns, status.st_size) == (sight.mtime_ns, sight.size):
                continue
            now = load_text_file(path)
        except (OSError, ToolError):
            continue
        lines = list(_render_changed_lines(sight.text or "", now.text))
        is_whole = len(lines) <= MAX_SHOWN_LINES
        files.note_seen(path, now.status, now.text if is_whole else None, is_written=True)
        if now.text == sight.text or not now.shown_text:
            continue
        left = "" if is_whole else f"\n\n... [{len(lines) - MAX_SHOWN_LINES} lines truncated] ..."
        yield (
            f"Note: {path} changed on disk since you last read it. The change was most likely intentional: continue"
            " from the current content, and if it looks wrong, say so instead of undoing it. Here are the relevant"
            " changes (shown with line numbers):\n" + "\n".join(lines[:MAX_SHOWN_LINES]) + left
        )


def _render_changed_lines(before: str, after: str) -> Iterator[str]:
    """Yield the current lines with their numbers, and three dots in place of omitted lines."""
    for at, hunk in enumerate(build_patch(before, after, _CONTEXT_LINES)):
        if at:
            yield "..."
        lines = (line[1:] for line in hunk["lines"] if line[0] in " +")
        yield from (f"{number}\t{line}" for number, line in enumerate(lines, hunk["newStart"]))
