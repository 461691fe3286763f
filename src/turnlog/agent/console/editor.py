"""Opens a file in the person's editor."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from turnlog.errors import TurnlogError, UsageError


def edit_file(path: Path, environ: Mapping[str, str]) -> None:
    """Run `$VISUAL` or `$EDITOR` with a file and wait for its end.

    A blank variable names no editor: without this check, the file itself would become the program to run.
    """
    value = environ.get("VISUAL", "").strip() or environ.get("EDITOR", "").strip()
    try:
        words = shlex.split(value)
    except ValueError:
        raise UsageError(f"$EDITOR can't be read as a command: {value[:80]!r}") from None
    if not words or not words[0]:
        raise UsageError("$EDITOR names no editor; set it and start again, for example EDITOR=nano turnlog chat")
    try:
        done = subprocess.run([*words, str(path)], env=dict(environ), check=False)
    except OSError as error:
        raise TurnlogError(f"$EDITOR: {words[0]}: {error.strerror or error}") from None
    if done.returncode:
        raise TurnlogError(f"$EDITOR: {words[0]} failed with exit code {done.returncode}")
