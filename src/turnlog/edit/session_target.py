"""The session file that a verb is about to write to."""

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
    """The config folder that it lies in; None for a file elsewhere, to which nothing else belongs."""

    @property
    def root(self) -> Path:
        """The folder that no link may lead out of: all projects, or the file's own."""
        return self.path.parent if self.config_dir is None else self.config_dir / "projects"

    @property
    def session_dir(self) -> Path:
        """The folder beside it, whether it exists or not."""
        return self.path.with_suffix("")

    def is_reached_by_link(self, path: Path) -> bool:
        """Whether a path below the folder beside it is reached by a link only, and so is not the session's."""
        return self.session_dir.is_symlink() and path != self.session_dir and path.is_relative_to(self.session_dir)


def find_target(path: Path) -> SessionTarget:
    """Give the session file at a path; refuses the demo and what the client would not take for a session."""
    if is_demo(path):
        raise UsageError("the made-up sessions of the demo can't be changed or added to; name a session of your own")
    if path.suffix != ".jsonl" or not is_session_id(path.stem):
        raise UsageError(f"{path}: its name is no session id, so it is no session of the client's")
    # Not resolved: a link must be seen as one. But `..` and the current folder must not hide where it lies.
    whole = Path(os.path.abspath(path))  # noqa: PTH100
    projects = whole.parent.parent
    return SessionTarget(whole, whole.stem, projects.parent if projects.name == "projects" else None)


def check_is_session(found: SessionTarget) -> None:
    """Refuse a file that is no session of the client's, with the reason; mostly a look at its beginning is enough."""
    fd, status = open_regular_file(found.path)
    try:
        head = read_at(fd, 0, _HEAD_BYTES)
    finally:
        os.close(fd)
    if status.st_size > len(head):
        head = head[: head.rfind(b"\n") + 1]
    if explain_foreign_file(Transcript.from_bytes(head)) is None and head:
        return
    file = Transcript.open(found.path)
    try:
        if reason := explain_foreign_file(file):
            raise Unreadable(f"{found.path}: this is no session of Claude Code: {reason}")
    finally:
        file.close()


def clean_one_line(text: str, what: str, longest: int) -> str:
    """A title or tag as it may be written: on one line, and nothing in it that can't be seen."""
    plain = " ".join(text.split())
    if not plain:
        raise UsageError(f"the {what} is empty")
    if len(plain) > longest:
        raise UsageError(f"the {what} has {len(plain):,} characters; {longest} are the most")
    if bad := next((char for char in plain if not char.isprintable()), None):
        raise UsageError(f"the {what} holds U+{ord(bad):04X}, which can't be shown; leave it out")
    return plain


def check_changeable(found: SessionTarget) -> None:
    """Refuse a session that is reached by a link out of its config folder, unless all projects are kept elsewhere."""
    if found.config_dir is None:
        raise TurnlogError(f"{found.path}: lies in no projects folder of the client's; nothing belongs to it")
    homes = [os.path.realpath(folder) for folder in (found.config_dir, found.root)]
    if not any(Path(os.path.realpath(found.path.parent)).is_relative_to(home) for home in homes):
        raise TurnlogError(f"{found.path}: a link leads out of {found.config_dir}; nothing was changed")
