"""Determines which files of a session are packed.

    packed      transcript, sub-agents with their meta files, large outputs, workflows, title, copies of files, to-dos,
                tasks, plans that it mentions, its lines in `history.jsonl`, and anything else in its own folder
    left out    session-env (shell code that the client would run elsewhere), debug (a log of this machine), resume-head
                (a cache that the client rebuilds), links, and unknown folders

Files that `unpack` would refuse are never packed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.carried_files import list_left_out_links
from turnlog.edit.package.pack_source import PackSource, inspect_source
from turnlog.edit.package.package import CONFIG_NAME_PREFIX
from turnlog.edit.session_target import SessionTarget, check_changeable
from turnlog.entries.agents import list_loose_agents
from turnlog.entries.atomic_file import read_whole_file
from turnlog.entries.belongings import list_belongings
from turnlog.entries.history import split_history
from turnlog.entries.layout import is_session_id, scan_folder
from turnlog.entries.path_escapes import escape_path
from turnlog.entries.peek import complete_titles, peek_safely
from turnlog.entries.resume_command import find_resume_folder
from turnlog.errors import UsageError

_MAX_TITLE_CHARS = 200
_PLAN_SLUG_PATTERN = re.compile(rb'"slug":"([^"\\]{1,255})"')
_OVERLAP_BYTES = 270
"""The overlap of two pieces, which is longer than the name of any plan, so that no name is missed."""


class SessionContents(NamedTuple):
    """A session that is about to be packed."""

    target: SessionTarget
    config_dir: Path
    title: str | None
    project: str | None
    main: PackSource
    """The transcript, up to where it ended when this list was made."""
    files: dict[str, Path]
    """All other files, by their name in the package."""
    history: bytes
    history_lines: int
    left_out: tuple[Path, ...]
    """Files of the session that are not packed."""

    @property
    def main_name(self) -> str:
        """The name of the transcript in the package."""
        return _make_package_name(self.target.path, self.config_dir)


def list_session_contents(path: Path) -> SessionContents:
    """List the files of a session to pack; measure the transcript first, so that the files it names exist."""
    target = _find_target(path)
    config_dir = target.config_dir or Path()
    main = inspect_source(target.path)
    ends = peek_safely(str(target.path))
    files, left_out = _list_files(target, config_dir, _find_plans(main, config_dir))
    history = split_history(_read_history(config_dir), target.session_id)
    title = complete_titles(str(target.path), ends).best
    return SessionContents(
        target=target,
        config_dir=config_dir,
        title=None if title is None else _to_valid_text(title[:_MAX_TITLE_CHARS]),
        project=_find_project_folder(target, ends.cwd, ends.last_cwd),
        main=main,
        files={_make_package_name(file, config_dir): file for file in files},
        history=history.taken,
        history_lines=history.lines,
        left_out=left_out,
    )


def _find_target(path: Path) -> SessionTarget:
    """Return the session file at a path; the demo's sessions are allowed, because packing changes nothing."""
    if path.suffix != ".jsonl" or not is_session_id(path.stem):
        raise UsageError(f"{path}: the file name is not a session id, so the file is not a Claude Code session")
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - a link must stay a link
    projects = whole.parent.parent
    target = SessionTarget(whole, whole.stem, projects.parent if projects.name == "projects" else None)
    check_changeable(target)
    return target


def _make_package_name(path: Path, config_dir: Path) -> str:
    return CONFIG_NAME_PREFIX + escape_path(path.relative_to(config_dir).as_posix())


def _find_project_folder(target: SessionTarget, *folders: str | None) -> str | None:
    """Return the working directory that the session's folder is named after, or else the first one in its entries."""
    folder = find_resume_folder(target.path, [folder for folder in folders if folder])
    return None if folder is None else _to_valid_text(folder)


def _to_valid_text(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _find_plans(main: PackSource, config_dir: Path) -> list[str]:
    """Return the plans in the config folder that a transcript mentions; if in doubt, include the plan."""
    known = {os.fsencode(item.name[:-3]) for item in scan_folder(config_dir / "plans") if item.name.endswith(".md")}
    named: set[bytes] = set()
    before = b""
    for piece in main.read_pieces() if known else ():
        named.update(_PLAN_SLUG_PATTERN.findall(before + piece))
        before = piece[-_OVERLAP_BYTES:]
    return sorted(os.fsdecode(name) for name in named & known)


def _list_files(target: SessionTarget, config_dir: Path, plans: list[str]) -> tuple[list[Path], tuple[Path, ...]]:
    project_dir, own = target.path.parent, target.session_id
    loose = list_loose_agents(project_dir)
    belongings = list_belongings(config_dir, project_dir, own, plans, loose)
    metas = [agent.meta_path for agent in loose.get(own, []) if agent.meta_path]
    inside = [path for path in belongings.other if path.is_relative_to(target.session_dir)]
    outside = [path for path in belongings.other if path not in inside]
    known = [
        *belongings.subagents,
        *belongings.tool_results,
        *belongings.workflows,
        *belongings.file_history,
        *belongings.todos,
        *belongings.tasks,
    ]
    known += [
        *belongings.loose_agents,
        *metas,
        *belongings.plans,
        *filter(None, [belongings.custom_title]),
        *_list_below(inside),
    ]
    files = list(dict.fromkeys(path for path in known if _is_plain_file(path) and not target.is_reached_by_link(path)))
    unusual = [path for path in known if path.is_symlink() or not (path.is_file() or path.is_dir())]
    unusual += list_left_out_links(target)
    machine = filter(None, (belongings.session_env, belongings.debug, belongings.resume_head))
    return files, tuple(sorted({*unusual, *outside, *machine}))


def _list_below(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            yield from (Path(base, name) for base, _, names in os.walk(path) for name in sorted(names))
        else:
            yield path


def _is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _read_history(config_dir: Path) -> bytes:
    try:
        return read_whole_file(config_dir / "history.jsonl").data
    except OSError:
        return b""
