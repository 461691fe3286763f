"""Names of projects in a lake: the working folder without the person's home folder, and the key of its partition.

Two people who have the same repository at the same place below their homes work on the same project.
"""

from __future__ import annotations

import hashlib
import re

_HOME = re.compile(r"(?:/home/[^/]+|/Users/[^/]+|/root|[A-Za-z]:/Users/[^/]+)(?=/|$)")
_FOLDER_HOME = re.compile(r"(?:[A-Za-z]-)?-(?:home|Users)-[A-Za-z0-9]+")
_MAX_PROJECT_CHARS = 160
_MAX_KEY_CHARS = 48


def name_project(cwd: str | None, folder: str) -> str:
    """Name a project by its working folder or, if that is unknown, by the folder of its sessions."""
    if cwd is None:
        home = _FOLDER_HOME.match(folder)
        name = f"~{folder[home.end() :]}" if home else folder
    else:
        path = cwd.replace("\\", "/").rstrip("/") or "/"
        home = _HOME.match(path)
        name = f"~{path[home.end() :]}" if home else path
    return name if len(name) <= _MAX_PROJECT_CHARS else "…" + name[1 - _MAX_PROJECT_CHARS :]


def build_project_key(project: str) -> str:
    """Build the name of a project's folder in the lake: readable, and different for different projects."""
    readable = re.sub(r"[^A-Za-z0-9]+", "-", project).strip("-")[-_MAX_KEY_CHARS:].strip("-")
    digest = hashlib.sha256(project.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{readable}-{digest}" if readable else digest
