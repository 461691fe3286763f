"""What the commands say that make a session from another: `clone`, `fork`, `redact --clone`, `repair`."""

from __future__ import annotations

from typing import Any

from turnlog.cli.output import print_lines, print_remark
from turnlog.cli.terminal import to_visible_line
from turnlog.cli.time_format import format_size
from turnlog.edit.clone import ClonedSession
from turnlog.render.figures import format_count


def to_new_session_document(made: ClonedSession) -> dict[str, Any]:
    """A new session for programs."""
    return {
        "session_id": made.session_id,
        "path": str(made.path),
        "title": made.title,
        "bytes": made.size,
        "files": made.files,
        "torn_bytes": made.torn_bytes,
        "left_out": [str(path) for path in made.left_out],
        "source": {"session_id": made.source.session_id, "path": str(made.source.path)},
    }


def print_new_session(made: ClonedSession) -> None:
    """Say what was made, and how to go on with it."""
    if made.torn_bytes:
        print_remark(describe_torn_end(made.torn_bytes))
    for path in made.left_out:
        print_remark(
            to_visible_line(f"{path}: is a link and was not followed; what it leads to is not in the new session.")
        )
    print_lines(
        [
            (
                f"{made.session_id}  {to_visible_line(made.title)}  "
                f"({format_size(made.size)}{describe_file_count(made.files)})"
            ),
            f"Resume it with: claude --resume {made.session_id}",
        ]
    )


def describe_torn_end(size_in_bytes: int) -> str:
    """Why the new session lacks the end of its source."""
    return f"The last line of the source is cut off: its {format_count(size_in_bytes, 'byte')} were left out."


def describe_file_count(number: int) -> str:
    """How many files go along with a transcript, in words; nothing for none."""
    return (
        f", with {format_count(number, 'file')} that {'belongs' if number == 1 else 'belong'} to it" if number else ""
    )
