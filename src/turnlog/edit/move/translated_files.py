"""Rewrites files after a project folder is renamed: transcripts, the history, and the client's own lists.

*.jsonl                  line by line; lines that are not entries are left unchanged
*.json                   only strings that are paths; all other bytes are left unchanged
<config>/.claude.json    the client's state; the names of the projects in it are changed
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
    value: str
    keys: tuple[str, ...]
    """The keys that lead to the string or, if it is itself a key, to its object."""
    is_key: bool
    start: int
    end: int


def iterate_json_strings(raw: bytes) -> Iterator[JsonString]:
    frames: list[str | None] = []  # the current key of each open object or list
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
    """Change some strings in a document; return the data unchanged if it is not JSON."""
    try:
        json.loads(raw.decode("utf-8", "replace").lstrip("\ufeff"), strict=False)
    except (ValueError, RecursionError):
        return raw
    parts, position = [], 0
    for text in iterate_json_strings(raw):
        new = change(text)
        if new != text.value:
            parts += [raw[position : text.start], encode_json_line(new)]
            position = text.end
    return b"".join([*parts, raw[position:]])


def _decode_token(token: bytes) -> str:
    try:
        return str(json.loads(token.decode("utf-8", "replace"), strict=False))
    except ValueError:
        return ""


_STATE_FILE_NAME = ".claude.json"
_PROJECTS_KEY, _REPOSITORIES_KEY = "projects", "githubRepoPaths"
LineReporter = Callable[[bytes, bytes], None]
"""Receives each line before and after its translation."""


def translate_file(
    path: Path, translation: PathTranslation, *, text: bool = False, report: LineReporter | None = None
) -> Iterator[bytes]:
    """Yield the lines of a file with renamed paths."""
    if path.suffix == ".jsonl":
        with path.open("rb") as file:
            for _, raw in scan_lines(file):
                new = translation.translate_line(raw, text=text)
                if report is not None:
                    report(raw, new)
                yield new
        return
    raw = path.read_bytes()
    new = (
        translate_state(raw, translation)
        if path.name == _STATE_FILE_NAME
        else _translate_document(raw, translation, text=text)
    )
    if report is not None:
        report(raw, new)
    yield new


def _translate_document(raw: bytes, translation: PathTranslation, *, text: bool) -> bytes:
    return replace_json_strings(raw, lambda string: _translate_string(string, translation, text=text))


def _translate_string(string: JsonString, translation: PathTranslation, *, text: bool) -> str:
    is_text = not string.is_key and bool(string.keys) and string.keys[-1] in TEXT_KEYS
    if is_text:
        return translation.translate_text(string.value) if text else string.value
    return translation.translate_path(string.value)


class _LineDiffers(Exception):
    """Raised when the translation changes a line."""


def needs_translation(path: Path, translation: PathTranslation, *, text: bool = False) -> bool:
    """Return whether a file must be rewritten, reading only up to the first line that changes."""

    def report(old: bytes, new: bytes) -> None:
        if old != new:
            raise _LineDiffers

    try:
        for _ in translate_file(path, translation, text=text, report=report):
            pass
    except _LineDiffers:
        return True
    return False


def translate_state(raw: bytes, translation: PathTranslation) -> bytes:
    """Rewrite the client's state so that its projects have their new paths."""
    state = _decode_object(raw)
    names = state.get(_PROJECTS_KEY)
    if isinstance(names, dict) and any(
        translation.translate_path(name) != name and translation.translate_path(name) in names for name in names
    ):
        return _merge_projects(state, names, translation)

    def change(string: JsonString) -> str:
        is_project = string.is_key and string.keys == (_PROJECTS_KEY,)
        is_repository = not string.is_key and string.keys[:1] == (_REPOSITORIES_KEY,)
        return translation.translate_path(string.value) if is_project or is_repository else string.value

    return replace_json_strings(raw, change)


def _merge_projects(state: dict[str, Any], names: dict[str, Any], translation: PathTranslation) -> bytes:
    """Merge a project that already has an entry under its new path: existing values win; the old entry fills gaps."""
    projects: dict[str, Any] = {}
    for name, value in names.items():
        goal = translation.translate_path(name)
        existing = projects.get(goal)
        if existing is None:
            projects[goal] = value
        elif goal == name:
            projects[goal] = _fill_gaps(value, existing)
        else:
            projects[goal] = _fill_gaps(existing, value)
    return json.dumps({**state, _PROJECTS_KEY: projects}, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _fill_gaps(new: Any, old: Any) -> Any:
    if not isinstance(new, dict) or not isinstance(old, dict):
        return new
    return {**old, **{key: value for key, value in new.items() if value or key not in old}}


def join_session_indexes(ours: bytes, theirs: bytes) -> bytes | None:
    """Merge two session lists; return None if either of them is invalid."""
    one, other = _decode_object(ours), _decode_object(theirs)
    first, second = one.get("entries"), other.get("entries")
    if not isinstance(first, list) or not isinstance(second, list):
        return None
    return json.dumps({**one, "entries": first + second}, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _decode_object(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def list_state_files(config_dirs: Iterable[Path]) -> list[Path]:
    """Return the client's state files for some config folders: inside each folder, or beside `~/.claude`."""
    paths: dict[Path, None] = {}
    for folder in config_dirs:
        places = [folder / _STATE_FILE_NAME, *([folder.parent / _STATE_FILE_NAME] if folder.name == ".claude" else [])]
        paths.update(dict.fromkeys(place for place in places if place.is_file()))
    return list(paths)
