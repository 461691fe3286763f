"""The names in a package: how places below a config folder are written, and which of them are a session's.

A package may come from a stranger. Nothing in it may lead out of the config folder, nor to a place in it that is none
of a session's: the client runs what it finds as settings, hooks, skills, commands or shell environment.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

CONFIG_NAME_PREFIX = "config/"
"""What the names of files begin with that have a place below the config folder."""
HISTORY_NAME_PREFIX = "history/"
"""What the names of lines of `history.jsonl` begin with."""

_AGENT_FILE_PATTERN = re.compile(r"(?:subagents/)?agent-[^/]+\.(?:jsonl|meta\.json)", re.DOTALL)
_PLAN_FILE_PATTERN = re.compile(r"[^/]+\.md", re.DOTALL)


def is_session_place(place: str, session_id: str, folder: str) -> bool:
    """Whether a place below a config folder is one where files of a session lie; all are written as in a package."""
    top, _, rest = place.partition("/")
    if top == "projects":
        project, _, rest = rest.partition("/")
        own = rest == f"{session_id}.jsonl" or rest.startswith(f"{session_id}/")
        return project == folder and (own or _AGENT_FILE_PATTERN.fullmatch(rest) is not None)
    if top in ("file-history", "tasks"):
        return rest.startswith(f"{session_id}/")
    if top == "todos":
        return "/" not in rest and rest.startswith((f"{session_id}.json", f"{session_id}-agent-"))
    return top == "plans" and _PLAN_FILE_PATTERN.fullmatch(rest) is not None


def find_colliding_name(names: Iterable[str]) -> str | None:
    """A name that some disks would not tell from another, or that is both file and folder; None if there is none."""
    seen: set[str] = set()
    folders: set[str] = set()
    for name in names:
        folded = _fold_name(name)
        if folded in seen:
            return name
        seen.add(folded)
        parts = folded.split("/")
        folders.update("/".join(parts[:count]) for count in range(1, len(parts)))
    return next(iter(sorted(seen & folders)), None)


def _fold_name(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
