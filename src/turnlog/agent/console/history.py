"""What was said at the prompt, for the next session: a line for each, added as it is said."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

MAX_HISTORY_PROMPTS = 1000


class PromptHistory:
    """A file of prompts that only its owner may read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> list[str]:
        """The newest prompts, the oldest of them first; a file that has grown much longer is cut."""
        try:
            lines = self._path.read_text("utf-8", "replace").splitlines()
        except OSError:
            return []
        if len(lines) > 2 * MAX_HISTORY_PROMPTS:
            with contextlib.suppress(OSError):
                self._write_text("".join(f"{line}\n" for line in lines[-MAX_HISTORY_PROMPTS:]), os.O_TRUNC)
        return [_unescape_prompt(line) for line in lines[-MAX_HISTORY_PROMPTS:] if line]

    def add(self, text: str) -> None:
        """Keep a prompt; one that can't be kept is no reason to stop."""
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write_text(_escape_prompt(text) + "\n", os.O_APPEND)

    def _write_text(self, text: str, how: int) -> None:
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | how, 0o600)
        try:
            os.write(fd, text.encode("utf-8", "replace"))
        finally:
            os.close(fd)


def _escape_prompt(text: str) -> str:
    return "\\n".join(part.replace("\\", "\\\\") for part in text.splitlines())


def _unescape_prompt(line: str) -> str:
    return "\\".join(part.replace("\\n", "\n") for part in line.split("\\\\"))
