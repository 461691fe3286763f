"""The contents of files after a project's folder got another path: transcripts, the history, the client's own lists.

*.jsonl                  line by line; what is no entry stays as it is
*.json                   the strings that are paths; all other bytes stay
<config>/.claude.json    the client's state: the names of the projects in it
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.edit.move.path_translation import TEXT_KEYS, PathTranslation
from turnlog.entries.patch import encode_json_line
from turnlog.entries.reader import scan_lines

_JSON_TOKEN_PATTERN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{},:]', re.DOTALL)


class JsonString(NamedTuple):
    """A string in a document."""

    value: str
    keys: tuple[str, ...]
    """The keys that lead to it; of a key, those that lead to its object."""
    is_key: bool
    start: int
    end: int


def iterate_json_strings(raw: bytes) -> Iterator[JsonString]:
    """All strings of a document, in their order."""
    frames: list[str | None] = []  # of each open object or list the key that it stands at
    pending: JsonString | None = None
    for token in _JSON_TOKEN_PATTERN.finditer(raw):
        mark = token[0]
        if mark[:1] == b'"':
            keys = tuple(key for key in frames if key is not None)
            pending = JsonString(_decode_token(mark), keys, False, token.start(), token.end())
            continue
        if pending is not None:
            yield pending._replace(is_key=mark == b":")
        if mark == b":" and pending is not None and frames:
            frames[-1] = pending.value
        elif mark == b"," and frames:
            frames[-1] = None
        elif mark in (b"{", b"["):
            frames.append(None)
        elif mark in (b"}", b"]") and frames:
            frames.pop()
        pending = None
    if pending is not None:  # the document is one string
        yield pending


def replace_json_strings(raw: bytes, change: Callable[[JsonString], str]) -> bytes:
    """A document with some strings changed; what is no JSON stays as it is."""
    try:
        json.loads(raw.decode("utf-8", "replace").lstrip("\ufeff"), strict=False)
    except (ValueError, RecursionError):
        return raw
    parts, done = [], 0
    for text in iterate_json_strings(raw):
        new = change(text)
        if new != text.value:
            parts += [raw[done : text.start], encode_json_line(new)]
            done = text.end
    return b"".join([*parts, raw[done:]])


def _decode_token(token: bytes) -> str:
    try:
        return str(json.loads(token.decode("utf-8", "replace"), strict=False))
    except ValueError:
        return ""


_STATE_FILE_NAME = ".claude.json"
_PROJECTS_KEY, _REPOSITORIES_KEY = "projects", "githubRepoPaths"
LineReporter = Callable[[bytes, bytes], None]
"""Is told of each line as it was and as it is."""


def translate_file(
    path: Path, translation: PathTranslation, *, text: bool = False, tell: LineReporter | None = None
) -> Iterator[bytes]:
    """A file with the paths that it has now."""
    if path.suffix == ".jsonl":
        with path.open("rb") as file:
            for _, raw in scan_lines(file):
                new = translation.translate_line(raw, text=text)
                if tell is not None:
                    tell(raw, new)
                yield new
        return
    raw = path.read_bytes()
    new = (
        translate_state(raw, translation)
        if path.name == _STATE_FILE_NAME
        else _translate_document(raw, translation, text=text)
    )
    if tell is not None:
        tell(raw, new)
    yield new


def _translate_document(raw: bytes, translation: PathTranslation, *, text: bool) -> bytes:
    return replace_json_strings(raw, lambda found: _translate_string(found, translation, text=text))


def _translate_string(found: JsonString, translation: PathTranslation, *, text: bool) -> str:
    is_text = not found.is_key and bool(found.keys) and found.keys[-1] in TEXT_KEYS
    if is_text:
        return translation.translate_text(found.value) if text else found.value
    return translation.translate_path(found.value)


class _LineDiffers(Exception):
    """A line is not what it was."""


def needs_translation(path: Path, translation: PathTranslation, *, text: bool = False) -> bool:
    """Whether a file has to be rewritten; reads only up to the first line that changes."""

    def tell(old: bytes, new: bytes) -> None:
        if old != new:
            raise _LineDiffers

    try:
        for _ in translate_file(path, translation, text=text, tell=tell):
            pass
    except _LineDiffers:
        return True
    return False


def translate_state(raw: bytes, translation: PathTranslation) -> bytes:
    """The client's state with the projects under their new paths."""
    known = _decode_object(raw)
    names = known.get(_PROJECTS_KEY)
    if isinstance(names, dict) and any(
        translation.translate_path(name) != name and translation.translate_path(name) in names for name in names
    ):
        return _merge_projects(known, names, translation)

    def change(found: JsonString) -> str:
        of_project = found.is_key and found.keys == (_PROJECTS_KEY,)
        of_repository = not found.is_key and found.keys[:1] == (_REPOSITORIES_KEY,)
        return translation.translate_path(found.value) if of_project or of_repository else found.value

    return replace_json_strings(raw, change)


def _merge_projects(known: dict[str, Any], names: dict[str, Any], translation: PathTranslation) -> bytes:
    """Where the client knows the new path already: what it knows of it stays, and is filled up from the old one."""
    projects: dict[str, Any] = {}
    for name, value in names.items():
        goal = translation.translate_path(name)
        there = projects.get(goal)
        if there is None:
            projects[goal] = value
        elif goal == name:
            projects[goal] = _fill_up(value, there)
        else:
            projects[goal] = _fill_up(there, value)
    return json.dumps({**known, _PROJECTS_KEY: projects}, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _fill_up(new: Any, old: Any) -> Any:
    if not isinstance(new, dict) or not isinstance(old, dict):
        return new
    return {**old, **{key: value for key, value in new.items() if value or key not in old}}


def join_session_indexes(ours: bytes, theirs: bytes) -> bytes | None:
    """One list of sessions out of two; None if one of them is none."""
    one, other = _decode_object(ours), _decode_object(theirs)
    first, second = one.get("entries"), other.get("entries")
    if not isinstance(first, list) or not isinstance(second, list):
        return None
    return json.dumps({**one, "entries": first + second}, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _decode_object(raw: bytes) -> dict[str, Any]:
    try:
        found = json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def list_state_files(config_dirs: Iterable[Path]) -> list[Path]:
    """The state files of the client that belong to some config folders: in them, or beside `~/.claude`."""
    found: dict[Path, None] = {}
    for folder in config_dirs:
        places = [folder / _STATE_FILE_NAME, *([folder.parent / _STATE_FILE_NAME] if folder.name == ".claude" else [])]
        found.update(dict.fromkeys(place for place in places if place.is_file()))
    return list(found)
