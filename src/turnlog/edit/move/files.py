"""The contents of files after a project's folder got another path: transcripts, the history, the client's own lists.

*.jsonl                  line by line; what is no entry stays as it is
*.json                   the strings that are paths; all other bytes stay
<config>/.claude.json    the client's state: the names of the projects in it
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from turnlog.edit.move.document import Text, spliced
from turnlog.edit.move.paths import TEXTS, Translation
from turnlog.entries.reader import scan

_STATE = ".claude.json"
_PROJECTS, _REPOSITORIES = "projects", "githubRepoPaths"
Tell = Callable[[bytes, bytes], None]
"""Is told of each line as it was and as it is."""


def translated(
    path: Path, translation: Translation, *, text: bool = False, tell: Tell | None = None
) -> Iterator[bytes]:
    """A file with the paths that it has now."""
    if path.suffix == ".jsonl":
        with path.open("rb") as file:
            for _, raw in scan(file):
                new = translation.line(raw, text=text)
                if tell is not None:
                    tell(raw, new)
                yield new
        return
    raw = path.read_bytes()
    new = state(raw, translation) if path.name == _STATE else _document(raw, translation, text=text)
    if tell is not None:
        tell(raw, new)
    yield new


def _document(raw: bytes, translation: Translation, *, text: bool) -> bytes:
    return spliced(raw, lambda found: _path(found, translation, text=text))


def _path(found: Text, translation: Translation, *, text: bool) -> str:
    is_text = not found.is_key and bool(found.keys) and found.keys[-1] in TEXTS
    if is_text:
        return translation.text(found.value) if text else found.value
    return translation.path(found.value)


class _Differs(Exception):
    """A line is not what it was."""


def differs(path: Path, translation: Translation, *, text: bool = False) -> bool:
    """Whether a file has to be rewritten; reads only up to the first line that changes."""

    def tell(old: bytes, new: bytes) -> None:
        if old != new:
            raise _Differs

    try:
        for _ in translated(path, translation, text=text, tell=tell):
            pass
    except _Differs:
        return True
    return False


def state(raw: bytes, translation: Translation) -> bytes:
    """The client's state with the projects under their new paths."""
    known = _decoded(raw)
    names = known.get(_PROJECTS)
    if isinstance(names, dict) and any(
        translation.path(name) != name and translation.path(name) in names for name in names
    ):
        return _merged(known, names, translation)

    def change(found: Text) -> str:
        of_project = found.is_key and found.keys == (_PROJECTS,)
        of_repository = not found.is_key and found.keys[:1] == (_REPOSITORIES,)
        return translation.path(found.value) if of_project or of_repository else found.value

    return spliced(raw, change)


def _merged(known: dict[str, Any], names: dict[str, Any], translation: Translation) -> bytes:
    """Where the client knows the new path already: what it knows of it stays, and is filled up from the old one."""
    projects: dict[str, Any] = {}
    for name, value in names.items():
        goal = translation.path(name)
        there = projects.get(goal)
        if there is None:
            projects[goal] = value
        elif goal == name:
            projects[goal] = _filled(value, there)
        else:
            projects[goal] = _filled(there, value)
    return json.dumps({**known, _PROJECTS: projects}, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _filled(new: Any, old: Any) -> Any:
    if not isinstance(new, dict) or not isinstance(old, dict):
        return new
    return {**old, **{key: value for key, value in new.items() if value or key not in old}}


def joined_index(ours: bytes, theirs: bytes) -> bytes | None:
    """One list of sessions out of two; None if one of them is none."""
    one, other = _decoded(ours), _decoded(theirs)
    first, second = one.get("entries"), other.get("entries")
    if not isinstance(first, list) or not isinstance(second, list):
        return None
    return json.dumps({**one, "entries": first + second}, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _decoded(raw: bytes) -> dict[str, Any]:
    try:
        found = json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def state_files(config_dirs: Iterable[Path]) -> list[Path]:
    """The state files of the client that belong to some config folders: in them, or beside `~/.claude`."""
    found: dict[Path, None] = {}
    for folder in config_dirs:
        places = [folder / _STATE, *([folder.parent / _STATE] if folder.name == ".claude" else [])]
        found.update(dict.fromkeys(place for place in places if place.is_file()))
    return list(found)
