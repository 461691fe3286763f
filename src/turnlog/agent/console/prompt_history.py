"""The file of earlier prompts, shared by all sessions."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

MAX_HISTORY_PROMPTS = 1000


class PromptHistory:
    """The file of earlier prompts, readable only by its owner."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> list[str]:
        """Return the newest prompts, oldest first; shorten the file if it contains many more than that."""
        try:
            lines = self._path.read_text("utf-8", "replace").splitlines()
        except OSError:
            return []
        if len(lines) > 2 * MAX_HISTORY_PROMPTS:
            with contextlib.suppress(OSError):
                self._write_text("".join(f"{line}\n" for line in lines[-MAX_HISTORY_PROMPTS:]), os.O_TRUNC)
        return [_unescape_prompt(line) for line in lines[-MAX_HISTORY_PROMPTS:] if line]

    def add(self, text: str) -> None:
        """Append a prompt; ignore write errors."""
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write_text(_escape_prompt(text) + "\n", os.O_APPEND)

    def _write_text(self, text: str, mode: int) -> None:
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | mode, 0o600)
        try:
            os.write(fd, text.encode("utf-8", "replace"))
        finally:
            os.close(fd)


def _escape_prompt(text: str) -> str:
    return "\\n".join(part.replace("\\", "\\\\") for part in text.splitlines())


def _unescape_prompt(line: str) -> str:
    return "\\".join(part.replace("\\n", "\n") for part in line.split("\\\\"))
