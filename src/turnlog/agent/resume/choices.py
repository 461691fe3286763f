"""The sessions that can be resumed, for `--continue` and for the `--resume` picker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from turnlog.agent.record.record import find_project_dir
from turnlog.entries.layout import SessionFile, list_project_sessions, list_session_files
from turnlog.entries.marks import to_typed_text
from turnlog.entries.peek import Peek, peek_files
from turnlog.errors import NotFound


class ResumeChoice(NamedTuple):
    """A session in the picker; all of its text comes from the transcript."""

    path: Path
    title: str
    last_prompt: str | None
    time: datetime
    """The time of the last write."""
    size: int
    branch: str | None
    cwd: str | None

    @property
    def session_id(self) -> str:
        return self.path.stem


def list_resumable_sessions(
    config_dirs: Iterable[Path], cwd: Path | None, *, limit: int | None = None
) -> list[ResumeChoice]:
    """Return the sessions with a conversation, newest first, from one folder or, without `cwd`, from all folders."""
    files = sorted(_list_session_files(config_dirs, cwd), key=lambda file: file.mtime_ns, reverse=True)
    choices: list[ResumeChoice] = []
    step = limit or max(1, len(files))
    for start in range(0, len(files), step):
        batch = files[start : start + step]
        peeks = peek_files([file.file for file in batch])
        choices += [
            _build_choice(file, peek) for file, peek in zip(batch, peeks, strict=True) if _holds_conversation(peek)
        ]
        if limit is not None and len(choices) >= limit:
            return choices[:limit]
    return choices


def find_latest_session(config_dirs: Iterable[Path], cwd: Path) -> Path:
    found = list_resumable_sessions(config_dirs, cwd, limit=1)
    if not found:
        raise NotFound(
            f"{cwd}: no session to continue in this folder; `turnlog ls` lists the sessions in other folders"
        )
    return found[0].path


def _list_session_files(config_dirs: Iterable[Path], cwd: Path | None) -> Iterator[SessionFile]:
    for folder in config_dirs:
        if cwd is None:
            yield from list_session_files(folder)
        else:
            yield from list_project_sessions(find_project_dir(folder, cwd), folder)


def _holds_conversation(peek: Peek) -> bool:
    prompt = peek.first_prompt or peek.first_command or peek.last_prompt
    return peek.junk is None and not peek.is_sidechain and bool(prompt)


def _build_choice(file: SessionFile, peek: Peek) -> ResumeChoice:
    # The client's own order. Summaries of old clients may belong to another session.
    title = peek.custom_title or peek.ai_title or peek.last_prompt or peek.first_prompt or peek.first_command
    title = to_typed_text(title) if title else file.session_id
    time = datetime.fromtimestamp(file.mtime_ns / 1e9, UTC)
    cwd = peek.last_cwd or peek.cwd
    return ResumeChoice(file.path, title, peek.last_prompt, time, file.size, peek.git_branch, cwd)
