"""Reads a picture from the system's clipboard, by the programs that desktops have for it.

A program is run only from an absolute folder of `PATH` outside the working folder, where anybody could have put one.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from turnlog.errors import UsageError

_CLIPBOARD_SECONDS = 3.0
_NO_PICTURE = "there is no picture on the clipboard"
_SCRIPT = "get the clipboard as «class PNGf»"
_COMMANDS = (
    ("wl-paste", "--no-newline", "--type", "image/png"),
    ("xclip", "-selection", "clipboard", "-t", "image/png", "-o"),
    ("pngpaste", "-"),
    ("osascript", "-e", _SCRIPT),
)
_SCRIPT_OUTPUT = re.compile(rb"\xc2\xabdata PNGf([0-9A-F]+)\xc2\xbb\s*")


def read_clipboard_picture(environ: Mapping[str, str], folder: Path) -> bytes:
    """Return the picture on the clipboard; raise UsageError if there is none, or no program to read it."""
    has_program = False
    for name, *arguments in _COMMANDS:
        program = find_program(name, environ.get("PATH", ""), folder)
        if program is None:
            continue
        has_program = True
        try:
            done = subprocess.run(
                [str(program), *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_CLIPBOARD_SECONDS,
                env=dict(environ),
                cwd=program.parent,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        script = _SCRIPT_OUTPUT.fullmatch(done.stdout)
        if data := bytes.fromhex(script[1].decode()) if script else done.stdout:
            return data
    if has_program:
        raise UsageError(_NO_PICTURE)
    raise UsageError("no program can read the clipboard: install wl-clipboard or xclip, or drag a picture's file here")


def find_program(name: str, search_path: str, folder: Path) -> Path | None:
    """Find a program on the search path, but never in the working folder or in a relative one."""
    for place in _list_safe_folders(search_path, folder):
        program = place / name
        if program.is_file() and os.access(program, os.X_OK) and not _is_inside(program, folder):
            return program
    return None


def _list_safe_folders(search_path: str, folder: Path) -> Iterator[Path]:
    for part in search_path.split(os.pathsep):
        if Path(part).is_absolute() and not _is_inside(Path(part), folder):
            yield Path(part)


def _is_inside(path: Path, folder: Path) -> bool:
    """Return whether a path, with links resolved, is the working folder or inside it."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        return True
