"""What the commands say that make a session from another: `clone`, `fork`, `redact --clone`, `repair`."""

from __future__ import annotations

from typing import Any

from turnlog.cli.output import remark, say
from turnlog.cli.terminal import line
from turnlog.cli.when import size
from turnlog.edit.clone import Made
from turnlog.render.figures import count


def made_document(made: Made) -> dict[str, Any]:
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


def tell_made(made: Made) -> None:
    """Say what was made, and how to go on with it."""
    if made.torn_bytes:
        remark(torn_words(made.torn_bytes))
    for path in made.left_out:
        remark(line(f"{path}: is a link and was not followed; what it leads to is not in the new session."))
    say(
        [
            f"{made.session_id}  {line(made.title)}  ({size(made.size)}{with_files(made.files)})",
            f"Resume it with: claude --resume {made.session_id}",
        ]
    )


def torn_words(size_in_bytes: int) -> str:
    """Why the new session lacks the end of its source."""
    return f"The last line of the source is cut off: its {count(size_in_bytes, 'byte')} were left out."


def with_files(number: int) -> str:
    """How many files go along with a transcript, in words; nothing for none."""
    return f", with {count(number, 'file')} that {'belongs' if number == 1 else 'belong'} to it" if number else ""
