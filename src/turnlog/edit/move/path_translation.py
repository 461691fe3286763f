"""Rewrites the paths in a session's files after a folder is renamed.

Outside text, every string that is exactly the folder's path or a path below it is rewritten, whatever its key, even in
unknown entries. Keys that are paths (the files of a snapshot) are rewritten too. Text written by people, models and
tools is left unchanged unless the caller includes it; signed or hashed values are never changed, because their
signature or hash would no longer match.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import msgspec
from msgspec import Raw

from turnlog.entries.line_decoder import DECODE_ERRORS
from turnlog.entries.patch import (
    RawValues,
    encode_json_line,
    get_blank_after,
    get_blank_before,
    join_raw_values,
    read_raw_values,
)
from turnlog.entries.slug import make_slug
from turnlog.errors import UsageError

_WINDOWS_PATH_PATTERN = re.compile(r"[A-Za-z]:(?:[\\/]|$)|\\\\")
_SEPARATORS_PATTERN = re.compile(r"[\\/]+")
_ANY_SEPARATOR = r"[\\/]+"
_MAX_PATH_CHARS = 4096
"""The maximum length of a path."""
_NAME_CHARACTERS = r"\w\-@+~"
"""Characters that continue a name, which means that the text refers to a different path."""


class PathPrefix:
    """A folder's old path and its new one."""

    def __init__(self, old: str, new: str, slugs: Mapping[str, str] | None = None) -> None:
        self.old, self.new = (_strip_separators(path) for path in (old, new))
        self.is_windows = _WINDOWS_PATH_PATTERN.match(self.old) is not None
        self._to_windows = _WINDOWS_PATH_PATTERN.match(self.new) is not None
        self.slugs = {make_slug(self.old): make_slug(self.new)} if slugs is None else dict(slugs)
        """The names of project folders that change with it."""
        spelled = _build_windows_pattern(self.old) if self.is_windows else re.escape(self.old)
        flags = re.IGNORECASE if self.is_windows else re.NOFLAG
        separator = _ANY_SEPARATOR if self.is_windows else "/"
        self._whole = re.compile(rf"(file://(?:/(?=[A-Za-z]:))?)?{spelled}(?P<rest>{separator}.*)?", flags | re.DOTALL)
        ends = rf"(?![{_NAME_CHARACTERS}]|\.\w)"
        self._inside = re.compile(
            rf"(?:(?<![{_NAME_CHARACTERS}./\\])|(?<=file://)|(?<=file:///)){spelled}(?P<rest>)(?P<next>{separator})?{ends}"
            if self.is_windows
            else rf"(?:(?<![{_NAME_CHARACTERS}./\\])|(?<=file://)){spelled}(?P<rest>)(?P<next>)(?=/|{ends})",
            flags,
        )
        names = "|".join(re.escape(name) for name in sorted(self.slugs, key=len, reverse=True)) or r"(?!)"
        self._slug = re.compile(rf"(?<=projects[\\/])(?:{names})(?=[\\/]|$)")
        self._slug_inside = re.compile(rf"(?<=projects[\\/])(?:{names})(?![{_NAME_CHARACTERS}]|\.\w)")

    def covers_path(self, path: str) -> bool:
        """Return whether a path is the folder itself or inside it."""
        return len(path) < _MAX_PATH_CHARS and self._whole.fullmatch(path) is not None

    def replace_in_path(self, text: str) -> str:
        """Return the new path for a path in the folder; return other paths and text unchanged."""
        if len(text) < _MAX_PATH_CHARS and "projects" in text:
            text = self._slug.sub(lambda match: self.slugs[match[0]], text)
        match = self._whole.fullmatch(text)
        if match is None or len(text) >= _MAX_PATH_CHARS:
            return text
        scheme, rest = match[1] or "", match["rest"] or ""
        return scheme + self._format_new_path(match[0][len(scheme) :]) + self._format_rest(rest, match[0])

    def replace_in_text(self, text: str) -> str:
        """Return text with all paths in it renamed."""
        text = self._slug_inside.sub(lambda match: self.slugs[match[0]], text)
        return self._inside.sub(lambda match: self._format_new_path(match[0]) + (match["next"] or ""), text)

    def _format_new_path(self, found: str) -> str:
        """Return the new path with the separators used in the old one."""
        first = _SEPARATORS_PATTERN.search(found)
        if not self._to_windows or not self.is_windows or first is None:
            return self.new
        return _SEPARATORS_PATTERN.sub(lambda _: first[0], self.new)

    def _format_rest(self, rest: str, found: str) -> str:
        if self.is_windows and not self._to_windows:
            return _SEPARATORS_PATTERN.sub("/", rest)
        if self._to_windows and not self.is_windows:
            return rest.replace("/", "\\")
        return rest


def _strip_separators(path: str) -> str:
    """Remove trailing separators from a path; refuse a relative path."""
    bare = path.rstrip("/\\") if len(path) > 1 else path
    if not (path.startswith("/") or _WINDOWS_PATH_PATTERN.match(path)) or not bare.strip("/\\"):
        raise UsageError(f"{path!r}: expected the absolute path of a folder other than the root")
    return bare


def _build_windows_pattern(path: str) -> str:
    """Build a pattern for a Windows path, with any separators."""
    lead = _ANY_SEPARATOR if path[0] in "\\/" else ""
    return lead + _ANY_SEPARATOR.join(re.escape(part) for part in _SEPARATORS_PATTERN.split(path.lstrip("\\/")))


_TEXT_OBJECT_KEYS = frozenset({"message"})
"""Keys whose values are text, including everything nested in them."""
TEXT_KEYS = frozenset(
    "content text prompt lastPrompt firstPrompt summary rendered renderedInHumanTurn customTitle aiTitle display stdout"
    " stderr originalFile originalFileContents oldString newString old_string new_string plan result description"
    " command query pattern lines toolUseResult resultDisplay title planContent thinking error banner".split()
)
"""Keys whose strings are text, even if they look like paths."""
_SEALED_KEYS = frozenset({"signature", "data", "encrypted_content", "requestDigest", "shapeHash", "hash"})
"""Keys whose values must not change."""
_SIGNED_BLOCK_TYPES = frozenset({"thinking", "redacted_thinking"})
_HASHED_ENTRY_MARKS = (b'"api-request', b'"fork-context-ref')
"""Entries that contain both text and a hash of it."""
_WORD_PATTERN = re.compile(r"[A-Za-z0-9]+")
_MAX_SLUG_CHARS = 200
"""How many characters of a path are in the name of its project folder."""
_MAX_NESTING = 60
_split_list = msgspec.json.Decoder(list[Raw]).decode
_decode_object = msgspec.json.Decoder(RawValues).decode
_decode_string = msgspec.json.Decoder(str).decode


class PathTranslation:
    """Rewrites paths in lines and text after one folder is renamed."""

    def __init__(self, old: str, new: str, slugs: Mapping[str, str] | None = None) -> None:
        self.prefix = PathPrefix(old, new, slugs)
        words = _WORD_PATTERN.findall(self.prefix.old[:_MAX_SLUG_CHARS])
        self._hint = max(words, key=len, default="").encode()
        """A string that every mention of the folder contains, however it is escaped."""
        self._is_cased = not self.prefix.is_windows

    @property
    def old(self) -> str:
        return self.prefix.old

    @property
    def new(self) -> str:
        return self.prefix.new

    def translate_path(self, text: str) -> str:
        """Return the new path for a path in the folder; return other paths unchanged."""
        return self.prefix.replace_in_path(text)

    def translate_text(self, text: str) -> str:
        """Return text with all paths in it renamed."""
        return self.prefix.replace_in_text(text)

    def translate_line(self, raw: bytes, *, text: bool = False) -> bytes:
        """Rewrite the paths in a line of a session's files; with `text`, also rewrite those in messages and output."""
        if not self.may_mention_folder(raw):
            return raw
        parts = _decode_whole_line(raw)
        is_text = text and not any(mark in raw[:200] for mark in _HASHED_ENTRY_MARKS)
        if not parts or not self._fix_object(parts, is_text, 0):
            return raw
        return get_blank_before(raw) + join_raw_values(parts) + get_blank_after(raw)

    def may_mention_folder(self, raw: bytes) -> bool:
        """Return whether bytes may mention the folder and therefore need rewriting."""
        return self._hint in raw if self._is_cased else self._hint.lower() in raw.lower()

    def _fix_object(self, parts: RawValues, text: bool, depth: int) -> bool:
        """Rewrite the values and the keys of an object; return whether anything changed."""
        is_changed = False
        is_signed = text and _read_type(parts) in _SIGNED_BLOCK_TYPES
        for key, raw in list(parts.items()):
            value = bytes(raw)
            if not self.may_mention_folder(value) or is_signed or (key in _SEALED_KEYS and value[:1] == b'"'):
                continue
            new = self._fix_value(key, value, text, depth)
            if new is not value:
                parts[key], is_changed = Raw(new), True
        return self._fix_keys(parts) or is_changed

    def _fix_keys(self, parts: RawValues) -> bool:
        renamed = {key: self.translate_path(key) for key in parts}
        if all(key == new for key, new in renamed.items()):
            return False
        fixed = {renamed[key]: value for key, value in parts.items()}
        if len(fixed) < len(parts):  # both keys exist, and neither value may be lost
            return False
        parts.clear()
        parts.update(fixed)
        return True

    def _fix_value(self, key: str, value: bytes, text: bool, depth: int) -> bytes:
        first = value[:1]
        if (key in _TEXT_OBJECT_KEYS and not text) or depth > _MAX_NESTING:
            return value
        if first == b'"':
            return self._fix_string(key, value, text)
        if first == b"[":
            return self._fix_list(key, value, text, depth)
        if first == b"{":
            parts = read_raw_values(value)
            return join_raw_values(parts) if self._fix_object(parts, text, depth + 1) else value
        return value

    def _fix_string(self, key: str, value: bytes, text: bool) -> bytes:
        if key in TEXT_KEYS and not text:
            return value
        try:
            old = _decode_string(value)
        except DECODE_ERRORS:
            return value
        new = self.translate_text(old) if text else self.translate_path(old)
        if text and new == old:
            new = self.translate_path(old)
        return value if new == old else encode_json_line(new)

    def _fix_list(self, key: str, value: bytes, text: bool, depth: int) -> bytes:
        try:
            items = [bytes(item) for item in _split_list(value)]
        except DECODE_ERRORS:
            return value
        fixed = [
            self._fix_value(key, item, text, depth + 1) if self.may_mention_folder(item) else item for item in items
        ]
        is_changed = any(new is not old for new, old in zip(fixed, items, strict=True))
        return b"[" + b",".join(fixed) + b"]" if is_changed else value


def _decode_whole_line(raw: bytes) -> RawValues | None:
    """Return the values of a line that is a single object; return None for anything else, which must not change."""
    try:
        return _decode_object(raw)
    except DECODE_ERRORS:
        pass
    try:
        value = json.loads(raw.decode("utf-8", "replace").lstrip("\ufeff"), strict=False)
    except (ValueError, RecursionError):
        return None
    return read_raw_values(raw) if isinstance(value, dict) else None


def _read_type(parts: RawValues) -> str:
    raw = bytes(parts.get("type", b""))
    return raw[1:-1].decode("utf-8", "replace") if raw[:1] == b'"' else ""
