"""The sessions that can be taken up again: what `--continue` takes, and what the picker of `--resume` shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from turnlog.agent.record.record import project_dir
from turnlog.entries.layout import SessionFile, project_sessions, session_files
from turnlog.entries.peek import Peek
from turnlog.entries.peeks import look_all
from turnlog.errors import NotFound


class Choice(NamedTuple):
    """A session in the picker; all texts come from the transcript."""

    path: Path
    title: str
    last_prompt: str | None
    time: datetime
    """When it was written last."""
    size: int
    branch: str | None
    cwd: str | None

    @property
    def session_id(self) -> str:
        """The id of the session."""
        return self.path.stem


def choices(config_dirs: Iterable[Path], cwd: Path | None, *, limit: int | None = None) -> list[Choice]:
    """The sessions of a folder (of all, without one) that hold a conversation, the newest first."""
    files = sorted(_files(config_dirs, cwd), key=lambda file: file.mtime_ns, reverse=True)
    found: list[Choice] = []
    step = limit or max(1, len(files))
    for at in range(0, len(files), step):
        part = files[at : at + step]
        ends = look_all([file.file for file in part])
        found += [_choice(file, seen) for file, seen in zip(part, ends, strict=True) if _is_one(seen)]
        if limit is not None and len(found) >= limit:
            return found[:limit]
    return found


def latest(config_dirs: Iterable[Path], cwd: Path) -> Path:
    """The session of a folder that was written last."""
    found = choices(config_dirs, cwd, limit=1)
    if not found:
        raise NotFound(f"{cwd}: there is no session to continue in this folder; `turnlog ls` lists those of others")
    return found[0].path


def _files(config_dirs: Iterable[Path], cwd: Path | None) -> Iterator[SessionFile]:
    for folder in config_dirs:
        if cwd is None:
            yield from session_files(folder)
        else:
            yield from project_sessions(project_dir(folder, cwd), folder)


def _is_one(seen: Peek) -> bool:
    said = seen.first_prompt or seen.first_command or seen.last_prompt
    return seen.junk is None and not seen.is_sidechain and bool(said)


def _choice(file: SessionFile, seen: Peek) -> Choice:
    # In the client's own order; the summaries of old clients may be those of another session.
    title = seen.custom_title or seen.ai_title or seen.last_prompt or seen.first_prompt or seen.first_command
    time = datetime.fromtimestamp(file.mtime_ns / 1e9, UTC)
    cwd = seen.last_cwd or seen.cwd
    return Choice(file.path, title or file.session_id, seen.last_prompt, time, file.size, seen.git_branch, cwd)
