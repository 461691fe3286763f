"""The session file that an edit is about to write to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from turnlog.demo import is_demo
from turnlog.entries.file_ends import open_regular_file, read_at
from turnlog.entries.layout import is_session_id
from turnlog.entries.reader import Transcript
from turnlog.errors import TurnlogError, Unreadable, UsageError
from turnlog.session.foreign_files import explain_foreign_file

_HEAD_BYTES = 1 << 18


class SessionTarget(NamedTuple):
    """A session file whose name is its id."""

    path: Path
    session_id: str
    config_dir: Path | None
    """The session's config folder, or None for a file elsewhere, which has no other files."""

    @property
    def root(self) -> Path:
        """The folder that links must not resolve outside of: the folder of all projects, or the file's own folder."""
        return self.path.parent if self.config_dir is None else self.config_dir / "projects"

    @property
    def session_dir(self) -> Path:
        """The folder beside the transcript, which may not exist."""
        return self.path.with_suffix("")

    def is_reached_by_link(self, path: Path) -> bool:
        """Return whether a path in the session's folder is reached through a link and so is not part of the session."""
        return self.session_dir.is_symlink() and path != self.session_dir and path.is_relative_to(self.session_dir)


def find_target(path: Path) -> SessionTarget:
    """Return the session file at a path; refuse the demo and files that the client would not treat as a session."""
    if is_demo(path):
        raise UsageError("demo sessions can't be changed; name one of your own sessions")
    if path.suffix != ".jsonl" or not is_session_id(path.stem):
        raise UsageError(
            f"{path}: the file name is not a session id, so Claude Code does not list this file as a session"
        )
    # Not resolved, so that a link can still be recognised, but `..` and the current folder must not hide the path.
    whole = Path(os.path.abspath(path))  # noqa: PTH100
    projects = whole.parent.parent
    return SessionTarget(whole, whole.stem, projects.parent if projects.name == "projects" else None)


def check_is_session(target: SessionTarget) -> None:
    """Refuse a file that is not a Claude Code session, and give the reason; usually, only its start is read."""
    fd, status = open_regular_file(target.path)
    try:
        head = read_at(fd, 0, _HEAD_BYTES)
    finally:
        os.close(fd)
    if status.st_size > len(head):
        head = head[: head.rfind(b"\n") + 1]
    if explain_foreign_file(Transcript.from_bytes(head)) is None and head:
        return
    file = Transcript.open(target.path)
    try:
        if reason := explain_foreign_file(file):
            raise Unreadable(f"{target.path}: not a Claude Code session: {reason}")
    finally:
        file.close()


def clean_one_line(text: str, label: str, max_chars: int) -> str:
    """Return a title or tag as one line; refuse characters that can't be displayed."""
    line = " ".join(text.split())
    if not line:
        raise UsageError(f"the {label} is empty")
    if len(line) > max_chars:
        raise UsageError(f"the {label} has {len(line):,} characters; the limit is {max_chars}")
    if bad := next((char for char in line if not char.isprintable()), None):
        raise UsageError(f"the {label} contains U+{ord(bad):04X}, which can't be displayed; remove it")
    return line


def check_changeable(target: SessionTarget) -> None:
    """Refuse a session that has no config folder or that a link places outside that folder and its projects folder."""
    if target.config_dir is None:
        raise TurnlogError(f"{target.path}: not in a Claude Code projects folder, so it can't be deleted or packed")
    homes = [os.path.realpath(folder) for folder in (target.config_dir, target.root)]
    if not any(Path(os.path.realpath(target.path.parent)).is_relative_to(home) for home in homes):
        raise TurnlogError(f"{target.path}: a link points outside {target.config_dir}; nothing was changed")
