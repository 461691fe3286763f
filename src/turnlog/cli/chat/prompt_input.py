"""The prompt of print mode: the argument, and what is piped in."""

from __future__ import annotations

import os
import sys

from turnlog.cli.chat.print_output import print_remarks
from turnlog.errors import UsageError

_MAX_STDIN_BYTES = 64 << 20
_STDIN_WAIT_SECONDS = 3


def read_prompt(given: str | None) -> str:
    """Return the prompt: the argument, followed by piped input."""
    parts = [given or "", _read_piped_input() if _has_piped_input(waits=not given) else ""]
    prompt = "\n".join(part for part in parts if part)
    if not prompt.strip():
        raise UsageError("print mode requires a prompt as an argument or on standard input")
    return prompt


def _has_piped_input(*, waits: bool) -> bool:
    """Return whether standard input has data to read; a silent pipe is ignored if there is a prompt."""
    if sys.stdin is None or sys.stdin.isatty():
        return False
    if waits or os.name == "nt":
        return True
    import select

    if not select.select([sys.stdin], [], [], _STDIN_WAIT_SECONDS)[0]:
        print_remarks(
            f"standard input was ignored because nothing arrived within {_STDIN_WAIT_SECONDS} seconds;"
            " to avoid the wait, add `< /dev/null`"
        )
        return False
    return True


def _read_piped_input() -> str:
    raw = sys.stdin.buffer.read(_MAX_STDIN_BYTES + 1)
    if len(raw) > _MAX_STDIN_BYTES:
        raise UsageError(f"standard input is larger than the limit of {_MAX_STDIN_BYTES >> 20} MB")
    return raw.decode("utf-8", "replace")
