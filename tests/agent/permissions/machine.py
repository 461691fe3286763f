"""A project, a home and what lies around them, in which calls are judged; and the groups of the matrix."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.settings import Settings, SettingsLayer, load_settings
from turnlog.agent.tools.call_result import Workspace

MATRIX = Path(__file__).with_name("matrix.json")
_GIVEN = {"Bash": "command", "WebFetch": "url", "Glob": "path", "Grep": "path", "Task": "subagent_type"}


class Group(NamedTuple):
    """Rows that are judged under the same settings."""

    name: str
    mode: Any
    settings: Mapping[str, Any]
    rows: list[Row]


class Row(NamedTuple):
    """One call."""

    tool: str
    given: str
    verdict: str
    """What we say: allow, ask or deny."""
    newest: str | None
    """What 2.1.325 does with `-p`: runs or stops; None if it was not asked."""
    old: str | None
    """The same of 2.1.29."""


def groups() -> list[Group]:
    """The matrix."""
    found = json.loads(MATRIX.read_text("utf-8"))
    return [Group(one["name"], one["mode"], one["settings"], [Row(*row) for row in one["rows"]]) for one in found]


def furnish(base: Path) -> Path:
    """Make a project (`proj`), a home and things around them below a folder; give the project."""
    home, cwd = base / "home", base / "proj"
    for folder in (
        home / ".claude",
        home / "tmp",
        cwd / ".claude",
        cwd / ".git",
        cwd / "sub",
        cwd / "lure/deep",
        base / "extra",
    ):
        folder.mkdir(parents=True)
    texts = {
        "a.txt": "a",
        "secret.txt": "s",
        "sub/b.txt": "b",
        ".env": "x",
        "../outside.txt": "o",
        "../extra/e.txt": "e",
    }
    for name, text in texts.items():
        (cwd / name).write_text(f"{text}\n")
    (home / "h.txt").write_text("h\n")
    links = {"link.txt": "outside.txt", "linkdir": ".", "seclink.txt": "proj/secret.txt", "inner": "proj/lure/deep"}
    for link, target in {**links, "lure/away": "outside.txt", "lure/a.txt": "outside.txt"}.items():
        (cwd / link).symlink_to(base / target)
    return cwd


def guard(cwd: Path, group: Group) -> SettingsGuard:
    """The guard of a group."""
    home = cwd.parent / "home"
    settings = load_settings(
        cwd, home / ".claude", is_trusted=True, flags=[fill_folders(group.settings, cwd)], managed=home / "none"
    )
    return SettingsGuard(settings, group.mode, home=home)


def build_input(row: Row, cwd: Path) -> dict[str, str]:
    """What a call of the row is given."""
    further = {
        "Bash": {"description": "d"},
        "Write": {"content": "x\n"},
        "Edit": {"old_string": "a", "new_string": "b"},
        "WebFetch": {"prompt": "p"},
        "Glob": {"pattern": "*"},
        "Grep": {"pattern": "a"},
        "Task": {"description": "d", "prompt": "p"},
    }
    value: str = fill_folders(row.given, cwd)
    return {_GIVEN.get(row.tool, "file_path"): value, **further.get(row.tool, {})}


def fill_folders(value: Any, cwd: Path) -> Any:
    """Put the real folders in the place of $CWD, $BASE and $HOMEDIR."""
    text = json.dumps(value)
    for name, folder in (("$CWD", cwd), ("$BASE", cwd.parent), ("$HOMEDIR", cwd.parent / "home")):
        text = text.replace(name, json.dumps(os.fspath(folder))[1:-1])
    return json.loads(text)


def place(cwd: Path) -> Workspace:
    """Where a call is made."""
    return Workspace(cwd, cwd)


def flags(root: Path, **rules: Any) -> Settings:
    """Settings that were given as flags, and nothing else."""
    return Settings(
        (SettingsLayer("flags", "flags", {"permissions": {kind: list(some) for kind, some in rules.items()}}, root),)
    )
