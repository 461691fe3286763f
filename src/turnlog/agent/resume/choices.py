"""The sessions that can be taken up again: what `--continue` takes, and what the picker of `--resume` shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from turnlog.agent.record.record import find_project_dir
from turnlog.entries.layout import SessionFile, list_project_sessions, list_session_files
from turnlog.entries.peek import Peek, peek_files
from turnlog.errors import NotFound


class ResumeChoice(NamedTuple):
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


def list_resumable_sessions(
    config_dirs: Iterable[Path], cwd: Path | None, *, limit: int | None = None
) -> list[ResumeChoice]:
    """The sessions of a folder (of all, without one) that hold a conversation, the newest first."""
    files = sorted(_list_session_files(config_dirs, cwd), key=lambda file: file.mtime_ns, reverse=True)
    found: list[ResumeChoice] = []
    step = limit or max(1, len(files))
    for at in range(0, len(files), step):
        part = files[at : at + step]
        ends = peek_files([file.file for file in part])
        found += [_build_choice(file, seen) for file, seen in zip(part, ends, strict=True) if _holds_conversation(seen)]
        if limit is not None and len(found) >= limit:
            return found[:limit]
    return found


def find_latest_session(config_dirs: Iterable[Path], cwd: Path) -> Path:
    """The session of a folder that was written last."""
    found = list_resumable_sessions(config_dirs, cwd, limit=1)
    if not found:
        raise NotFound(f"{cwd}: there is no session to continue in this folder; `turnlog ls` lists those of others")
    return found[0].path


def _list_session_files(config_dirs: Iterable[Path], cwd: Path | None) -> Iterator[SessionFile]:
    for folder in config_dirs:
        if cwd is None:
            yield from list_session_files(folder)
        else:
            yield from list_project_sessions(find_project_dir(folder, cwd), folder)


def _holds_conversation(seen: Peek) -> bool:
    said = seen.first_prompt or seen.first_command or seen.last_prompt
    return seen.junk is None and not seen.is_sidechain and bool(said)


def _build_choice(file: SessionFile, seen: Peek) -> ResumeChoice:
    # In the client's own order; the summaries of old clients may be those of another session.
    title = seen.custom_title or seen.ai_title or seen.last_prompt or seen.first_prompt or seen.first_command
    time = datetime.fromtimestamp(file.mtime_ns / 1e9, UTC)
    cwd = seen.last_cwd or seen.cwd
    return ResumeChoice(file.path, title or file.session_id, seen.last_prompt, time, file.size, seen.git_branch, cwd)
