"""The surroundings of a session: its folder, repository, operating system and start date."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from turnlog.agent.record.git_branch import DETACHED_HEAD, read_git_branch


def describe_surroundings(
    cwd: Path, further: Sequence[Path] = (), model: str = "", environ: Mapping[str, str] | None = None, day: str = ""
) -> str:
    facts = {
        "Working folder": str(cwd),
        "Further folders": ", ".join(map(str, further)),
        "Git": _describe_repository(cwd),
        "System": _describe_system(),
        "Shell": Path((environ or os.environ).get("SHELL", "")).name,
        "Model": model,
        "Date at the start of the session": day or date.today().isoformat(),  # noqa: DTZ011 - the person's own day
    }
    lines = [f"- {name}: {value}" for name, value in facts.items() if value]
    return "\n".join(["The session's surroundings:", *lines])


def _describe_system() -> str:
    if hasattr(os, "uname"):
        system = os.uname()
        return f"{system.sysname} {system.release} ({system.machine})"
    import platform  # its import would slow down every start

    return f"{platform.system()} {platform.release()} ({platform.machine()})"


def _describe_repository(cwd: Path) -> str:
    if not any((folder / ".git").exists() for folder in (cwd, *cwd.parents)):
        return "no repository"
    name = read_git_branch(cwd)
    return "a repository, no branch checked out" if name == DETACHED_HEAD else f"a repository, on branch {name}"
