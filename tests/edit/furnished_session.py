"""A config folder in which one session has everything that can belong to a session, and another has little."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import NamedTuple

from tests.session.build import Build

MINE = "11111111-2222-4333-8444-555555555555"
OTHER = "99999999-2222-4333-8444-555555555555"
LONG_AGO = 1_700_000_000


class Seen(NamedTuple):
    """What stands at a place."""

    kind: int
    mode: int
    mtime_ns: int
    content: str


def furnish(config: Path) -> Path:
    """Fill a config folder; give the session's file."""
    project = config / "projects" / "-home-dana-webshop"
    inside = project / MINE
    texts = {
        inside / "subagents" / "agent-a1b2c3d.jsonl": '{"type":"user","isSidechain":true}\n',
        inside / "subagents" / "agent-a1b2c3d.meta.json": "{}",
        inside / "subagents" / "workflows" / "wf_1" / "journal.jsonl": "{}\n",
        inside / "tool-results" / "toolu_1.txt": "output " * 1000,
        inside / "custom-title.json": '{"customTitle":"Shop"}',
        inside / "news" / "unknown.bin": "?",
        project / "agent-beef.jsonl": f'{{"type":"user","sessionId":"{MINE}"}}\n',
        project / "agent-cafe.jsonl": f'{{"type":"user","sessionId":"{OTHER}"}}\n',
        config / "file-history" / MINE / "0123@v1": "old",
        config / "file-history" / OTHER / "0123@v1": "other",
        config / "todos" / f"{MINE}-agent-{MINE}.json": "[]",
        config / "tasks" / MINE / "1.json": "{}",
        config / "session-env" / MINE / "hook.sh": "export A=1\n",
        config / "debug" / f"{MINE}.txt": "log",
        config / "strange" / f"{MINE}.json": "{}",
        config / "plans" / "calm-blue-fox.md": "# mine",
        config / "plans" / "shared-red-fox.md": "# ours",
        config / "history.jsonl": _build_history_line(OTHER, "a")
        + _build_history_line(MINE, "b")
        + _build_history_line(OTHER, "c"),
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (inside / "subagents" / "empty").mkdir()
    if hasattr(os, "symlink") and os.name != "nt":
        (inside / "link").symlink_to("tool-results/toolu_1.txt")
    path = conversation("calm-blue-fox", "shared-red-fox").write(project, MINE)
    conversation("shared-red-fox").write(project, OTHER)
    _age(config)
    return path


def conversation(*plans: str) -> Build:
    """A short session whose prompts name plans."""
    build = Build()
    for number, plan in enumerate(plans):
        build.prompt(f"prompt {number}", slug=plan)
        build.answer("answer")
    return build


def _build_history_line(session: str, text: str) -> str:
    return f'{{"display":"{text}","sessionId":"{session}"}}\n'


def _age(config: Path) -> None:
    """Give everything a mode and a time of its own, long past."""
    for number, path in enumerate(sorted(config.rglob("*"), reverse=True)):
        if not path.is_symlink():
            path.chmod((0o750 if path.is_dir() else 0o640) if number % 2 else (0o700 if path.is_dir() else 0o600))
            os.utime(path, ns=(LONG_AGO * 10**9 + number, LONG_AGO * 10**9 + number))


def picture(config: Path, without: tuple[str, ...] = ()) -> dict[str, Seen]:
    """Everything below a folder, as it is; the times of folders that others share are not told."""
    found = {}
    for path in sorted(config.rglob("*")):
        place, status = path.relative_to(config).as_posix(), path.lstat()
        kind = stat.S_IFMT(status.st_mode)
        shared = path.is_dir() and MINE not in place and not path.is_symlink()
        if path.is_symlink():
            content = os.fspath(path.readlink())
        else:
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        if place not in without:
            time = 0 if shared or path.is_symlink() else status.st_mtime_ns
            found[place] = Seen(kind, stat.S_IMODE(status.st_mode), time, content)
    return found
