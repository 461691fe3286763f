"""Short names of projects: the folder's name, with as many folders above it as tell it from the others."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from turnlog.web.amounts import folder_name

_PATH_SEPARATOR = re.compile(r"[/\\]")


def name_projects(paths: Iterable[str]) -> dict[str, str]:
    """Return a name for each path; no two are the same."""
    names: dict[str, str] = {}
    by_name: dict[str, list[str]] = defaultdict(list)
    for path in dict.fromkeys(paths):
        by_name[folder_name(path)].append(path)
    for name, same in by_name.items():
        names.update({same[0]: name} if len(same) == 1 else _name_same(same))
    return names


def _name_same(paths: list[str]) -> dict[str, str]:
    parts = {path: _PATH_SEPARATOR.split(path.rstrip("/\\")) for path in paths}
    for length in range(2, max(map(len, parts.values())) + 1):
        names = {path: "/".join(part for part in own[-length:] if part) for path, own in parts.items()}
        if len(set(names.values())) == len(names):
            return names
    return {path: path for path in paths}
