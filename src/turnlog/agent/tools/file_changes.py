"""What the model is told of a file that it wrote, when somebody else has changed it: a formatter, a person.

Of files that it only read it is not told, as in the newest real client; an edit says it when it meets such a change.
"""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.agent.tools.call_result import ToolError
from turnlog.agent.tools.patch import build_patch
from turnlog.agent.tools.seen_files import SeenFiles
from turnlog.agent.tools.text_file import load_text_file

MAX_SHOWN_LINES = 300
"""Lines that are shown of a file."""
_CONTEXT_LINES = 8


def describe_file_changes(files: SeenFiles) -> Iterator[str]:
    """Tell of each change once: from then on the file counts as seen in its new state."""
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
            f"Note: {path} changed on disk since you last read it. Whoever did it most likely meant to: go on from what"
            " stands there now, and if it looks wrong, say so instead of undoing it. Here are the relevant changes"
            " (shown with line numbers):\n" + "\n".join(lines[:MAX_SHOWN_LINES]) + left
        )


def _render_changed_lines(before: str, after: str) -> Iterator[str]:
    """The lines that stand there now, with their numbers; three dots where some are left out."""
    for at, hunk in enumerate(build_patch(before, after, _CONTEXT_LINES)):
        if at:
            yield "..."
        kept = (line[1:] for line in hunk["lines"] if line[0] in " +")
        yield from (f"{number}\t{line}" for number, line in enumerate(kept, hunk["newStart"]))
