"""What the commands say that make a session from another: `clone`, `fork`, `redact --clone`, `repair`."""

from __future__ import annotations

from typing import Any

from turnlog.cli.output import say
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
        "source": {"session_id": made.source.session_id, "path": str(made.source.path)},
    }


def tell_made(made: Made) -> None:
    """Say what was made, and how to go on with it."""
    say(
        [
            f"{made.session_id}  {line(made.title)}  ({size(made.size)}{with_files(made.files)})",
            f"Resume it with: claude --resume {made.session_id}",
        ]
    )


def with_files(number: int) -> str:
    """How many files go along with a transcript, in words; nothing for none."""
    return f", with {count(number, 'file')} that {'belongs' if number == 1 else 'belong'} to it" if number else ""
