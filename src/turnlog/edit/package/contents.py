"""What of a session goes into a package.

    packed      transcript, sub-agents with their meta files, large outputs, workflows, title, copies of files, to-dos,
                tasks, plans that it names, its lines of `history.jsonl`, and whatever else lies in its own folder
    left out    session-env (shell code that the client would run elsewhere), debug (a log of this machine), resume-head
                (a cache that the client makes anew), links, and what lies in folders that turnlog does not know

Nothing is taken that `unpack` would refuse.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.carried import left_out
from turnlog.edit.package.places import CONFIG
from turnlog.edit.package.source import Source, source
from turnlog.edit.target import Target, must_be_changeable
from turnlog.entries.agents import loose_agents
from turnlog.entries.belongings import belongings
from turnlog.entries.history import without
from turnlog.entries.layout import is_session_id, scan
from turnlog.entries.peeks import complete_titles, look
from turnlog.entries.slug import slug
from turnlog.entries.spelling import escaped
from turnlog.entries.writer import read_whole
from turnlog.errors import UsageError

_LONGEST_TITLE = 200
_PLAN = re.compile(rb'"slug":"([^"\\]{1,255})"')
_OVERLAP = 270
"""More than a name of a plan takes, so that none is missed between two pieces."""


class Contents(NamedTuple):
    """A session that is to be packed."""

    target: Target
    config_dir: Path
    title: str | None
    project: str | None
    main: Source
    """The transcript, as far as it was written when this list was made."""
    files: dict[str, Path]
    """All else, by name in the package."""
    history: bytes
    history_lines: int
    left_out: tuple[Path, ...]
    """What is the session's and does not go along."""

    @property
    def main_name(self) -> str:
        """The name of the transcript in the package."""
        return _name(self.target.path, self.config_dir)


def contents(path: Path) -> Contents:
    """List what of a session is packed; the transcript is measured first, so that what it names is there."""
    found = _target(path)
    config_dir = found.config_dir or Path()
    main = source(found.path)
    ends = look(str(found.path))
    files, left_out = _files(found, config_dir, _plans(main, config_dir))
    typed = without(_history(config_dir), found.session_id)
    title = complete_titles(str(found.path), ends).best
    return Contents(
        target=found,
        config_dir=config_dir,
        title=None if title is None else _written(title[:_LONGEST_TITLE]),
        project=_project(found, ends.cwd, ends.last_cwd),
        main=main,
        files={_name(file, config_dir): file for file in files},
        history=typed.taken,
        history_lines=typed.lines,
        left_out=left_out,
    )


def _target(path: Path) -> Target:
    """The session file at a path; one of the demo too, because nothing is changed."""
    if path.suffix != ".jsonl" or not is_session_id(path.stem):
        raise UsageError(f"{path}: its name is no session id, so it is no session of the client's")
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - a link must be seen as one
    projects = whole.parent.parent
    found = Target(whole, whole.stem, projects.parent if projects.name == "projects" else None)
    must_be_changeable(found)
    return found


def _name(path: Path, config_dir: Path) -> str:
    return CONFIG + escaped(path.relative_to(config_dir).as_posix())


def _project(found: Target, *folders: str | None) -> str | None:
    """The working folder whose sessions lie in the session's folder, else the first one that it names."""
    known = [folder for folder in folders if folder]
    fitting = [folder for folder in known if slug(folder) == found.path.parent.name]
    return _written([*fitting, *known][0]) if known else None


def _written(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _plans(main: Source, config_dir: Path) -> list[str]:
    """The plans of the config folder that a transcript names; in doubt one is."""
    known = {os.fsencode(item.name[:-3]) for item in scan(config_dir / "plans") if item.name.endswith(".md")}
    named: set[bytes] = set()
    before = b""
    for piece in main.pieces() if known else ():
        named.update(_PLAN.findall(before + piece))
        before = piece[-_OVERLAP:]
    return sorted(os.fsdecode(name) for name in named & known)


def _files(found: Target, config_dir: Path, plans: list[str]) -> tuple[list[Path], tuple[Path, ...]]:
    project_dir, own = found.path.parent, found.session_id
    loose = loose_agents(project_dir)
    mine = belongings(config_dir, project_dir, own, plans, loose)
    metas = [agent.meta_path for agent in loose.get(own, []) if agent.meta_path]
    inside = [path for path in mine.other if path.is_relative_to(found.session_dir)]
    outside = [path for path in mine.other if path not in inside]
    known = [*mine.subagents, *mine.tool_results, *mine.workflows, *mine.file_history, *mine.todos, *mine.tasks]
    known += [*mine.loose_agents, *metas, *mine.plans, *filter(None, [mine.custom_title]), *_below(inside)]
    files = list(dict.fromkeys(path for path in known if _is_file(path) and not found.reaches_by_link(path)))
    strange = [path for path in known if path.is_symlink() or not (path.is_file() or path.is_dir())]
    strange += left_out(found)
    machine = filter(None, (mine.session_env, mine.debug, mine.resume_head))
    return files, tuple(sorted({*strange, *outside, *machine}))


def _below(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            yield from (Path(base, name) for base, _, names in os.walk(path) for name in sorted(names))
        else:
            yield path


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _history(config_dir: Path) -> bytes:
    try:
        return read_whole(config_dir / "history.jsonl").data
    except OSError:
        return b""
