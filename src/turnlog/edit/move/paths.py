"""The paths in a session's files after a folder got another name.

Outside of texts every string counts that is, as a whole, the folder's path or one below it, whatever its key: also of
entries that nobody knows yet. Keys that are paths count too (the files of a snapshot). What people, models and tools
said stays as it is, unless texts are asked for; and what is signed or hashed stays even then, because it would no
longer be what was signed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import msgspec
from msgspec import Raw

from turnlog.edit.move.prefix import Prefix
from turnlog.entries.decode import FAILURES
from turnlog.entries.patch import Values, blank_before, blank_behind, encoded, joined, values

_SAID = frozenset({"message"})
"""Values that are texts with everything in them."""
TEXTS = frozenset(
    "content text prompt lastPrompt firstPrompt summary rendered renderedInHumanTurn customTitle aiTitle display stdout"
    " stderr originalFile originalFileContents oldString newString old_string new_string plan result description"
    " command query pattern lines toolUseResult resultDisplay title planContent thinking error banner".split()
)
"""Keys of strings that are texts, also when they look like a path."""
_SEALED = frozenset({"signature", "data", "encrypted_content", "requestDigest", "shapeHash", "hash"})
"""Keys of what is not to be read, only to be kept."""
_SIGNED = frozenset({"thinking", "redacted_thinking"})
_REQUESTS = (b'"api-request', b'"fork-context-ref')
"""Entries that hold a hash of the text beside it."""
_WORD = re.compile(r"[A-Za-z0-9]+")
_SURE = 200
"""So many characters of a path are in the name of its project folder."""
_DEEPEST = 60
_split_list = msgspec.json.Decoder(list[Raw]).decode
_object = msgspec.json.Decoder(Values).decode
_string = msgspec.json.Decoder(str).decode


class Translation:
    """Rewrites the paths of one folder, which was renamed, in lines and in texts."""

    def __init__(self, old: str, new: str, slugs: Mapping[str, str] | None = None) -> None:
        self.prefix = Prefix(old, new, slugs)
        words = _WORD.findall(self.prefix.old[:_SURE])
        self._hint = max(words, key=len, default="").encode()
        """What every mention of the folder holds, however it is escaped."""
        self._is_cased = not self.prefix.is_windows

    @property
    def old(self) -> str:
        """The old path."""
        return self.prefix.old

    @property
    def new(self) -> str:
        """The new path."""
        return self.prefix.new

    def path(self, text: str) -> str:
        """A path as it is now; one that lies elsewhere stays as it is."""
        return self.prefix.path(text)

    def text(self, text: str) -> str:
        """A text with all paths in it as they are now."""
        return self.prefix.text(text)

    def line(self, raw: bytes, *, text: bool = False) -> bytes:
        """A line of a session's files with its paths as they are now; with `text` also in what was said."""
        if not self.mentions(raw):
            return raw
        parts = _whole(raw)
        is_text = text and not any(mark in raw[:200] for mark in _REQUESTS)
        if not parts or not self._fix(parts, is_text, 0):
            return raw
        return blank_before(raw) + joined(parts) + blank_behind(raw)

    def mentions(self, raw: bytes) -> bool:
        """Whether some bytes may name the folder; if not, there is nothing to rewrite in them."""
        return self._hint in raw if self._is_cased else self._hint.lower() in raw.lower()

    def _fix(self, parts: Values, text: bool, depth: int) -> bool:
        """Rewrite the values and the keys of an object; whether there was anything to rewrite."""
        is_changed = False
        is_signed = text and _kind(parts) in _SIGNED
        for key, raw in list(parts.items()):
            value = bytes(raw)
            if not self.mentions(value) or is_signed or (key in _SEALED and value[:1] == b'"'):
                continue
            new = self._value(key, value, text, depth)
            if new is not value:
                parts[key], is_changed = Raw(new), True
        return self._fix_keys(parts) or is_changed

    def _fix_keys(self, parts: Values) -> bool:
        renamed = {key: self.path(key) for key in parts}
        if all(key == new for key, new in renamed.items()):
            return False
        fixed = {renamed[key]: value for key, value in parts.items()}
        if len(fixed) < len(parts):  # both stand there: nothing may be lost
            return False
        parts.clear()
        parts.update(fixed)
        return True

    def _value(self, key: str, value: bytes, text: bool, depth: int) -> bytes:
        first = value[:1]
        if (key in _SAID and not text) or depth > _DEEPEST:
            return value
        if first == b'"':
            return self._said(key, value, text)
        if first == b"[":
            return self._list(key, value, text, depth)
        if first == b"{":
            parts = values(value)
            return joined(parts) if self._fix(parts, text, depth + 1) else value
        return value

    def _said(self, key: str, value: bytes, text: bool) -> bytes:
        if key in TEXTS and not text:
            return value
        try:
            old = _string(value)
        except FAILURES:
            return value
        new = self.text(old) if text else self.path(old)
        if text and new == old:
            new = self.path(old)
        return value if new == old else encoded(new)

    def _list(self, key: str, value: bytes, text: bool, depth: int) -> bytes:
        try:
            items = [bytes(item) for item in _split_list(value)]
        except FAILURES:
            return value
        fixed = [self._value(key, item, text, depth + 1) if self.mentions(item) else item for item in items]
        is_changed = any(new is not old for new, old in zip(fixed, items, strict=True))
        return b"[" + b",".join(fixed) + b"]" if is_changed else value


def _whole(raw: bytes) -> Values | None:
    """The values of a line that is one object; None for all else, which must stay as it is."""
    try:
        return _object(raw)
    except FAILURES:
        pass
    try:
        found = json.loads(raw.decode("utf-8", "replace").lstrip("\ufeff"), strict=False)
    except (ValueError, RecursionError):
        return None
    return values(raw) if isinstance(found, dict) else None


def _kind(parts: Values) -> str:
    raw = bytes(parts.get("type", b""))
    return raw[1:-1].decode("utf-8", "replace") if raw[:1] == b'"' else ""
