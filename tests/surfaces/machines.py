"""Machines to compare surfaces on: recorded sessions in one tree, and published sessions as a client lays them out."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def copy_recorded(config: Path, runs: Iterable[Path]) -> None:
    """Put recorded config folders side by side, each project under the name of its run."""
    for run in sorted(runs):
        for project in sorted((run / "projects").iterdir()):
            name = re.sub(r"[^A-Za-z0-9]", "-", f"{run.parent.name}-{run.name}{project.name}")
            shutil.copytree(project, config / "projects" / name)


def link_published(config: Path, wild: Path) -> None:
    """Lay published files out as a client would: each main file under an id, its sub-agents in the folder of that."""
    for path in sorted(wild.rglob("*.jsonl")):
        original = Path(f"{path.parent.name}/{path.name.replace('__', '/')}")
        target = config / "projects" / _place(original)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            target.symlink_to(path)


def _place(original: Path) -> Path:
    is_agent = original.name.startswith("agent-")
    if is_agent and original.parent.name == "subagents":
        owner = original.parent.parent
        return Path(_slug(owner.parent)) / _session_id(owner.name, owner) / "subagents" / original.name
    slug = _slug(original.parent)
    if is_agent:
        return Path(slug) / original.name
    return Path(slug) / f"{_session_id(original.stem, original.with_suffix(''))}.jsonl"


def _slug(folder: Path) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", f"/{folder}")[-120:]


def _session_id(name: str, place: Path) -> str:
    """An id: the one in the name, or one made up from the place."""
    found = _ID.search(name)
    return found[0] if found else str(uuid.uuid5(uuid.NAMESPACE_URL, str(place)))
