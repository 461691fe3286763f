"""The command with which a person resumes a session.

The client looks for a session only in the project of the folder in which it is started. In another folder, old versions
don't find the session, and new ones resume it there, where its files are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from turnlog.entries.slug import make_slug


def find_resume_folder(path: Path | None, folders: Sequence[str]) -> str | None:
    """Return the one of a session's working folders in which the client finds it; else the first one.

    That is the folder after which the project is named; a session may have gone on to others.
    """
    slug = path.parent.name if path else ""
    return next((folder for folder in folders if make_slug(folder) == slug), folders[0] if folders else None)


def build_resume_command(session_id: str, folder: str | None, config_dir: str | None = None) -> str:
    """Return the command that resumes a session in its folder; `config_dir` is one that is not the client's own."""
    command = f"claude --resume {quote(session_id)}"
    if config_dir:
        command = f"CLAUDE_CONFIG_DIR={quote(config_dir)} {command}"
    return f"cd {quote(folder)} && {command}" if folder else command
