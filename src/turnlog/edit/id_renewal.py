"""Gives a session new ids: its own id, the id of every entry, and all references to them.

Otherwise, a session and its copy could not be distinguished: the client counts each message once by its uuid, and a
reference must lead to the entry in its own file. Text written by people and models is not changed, even if it contains
an id. Signatures and the ids of messages, requests and calls belong to the API and are not changed either.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import msgspec
from msgspec import Raw

from turnlog.edit.draft import LINK_KEYS
from turnlog.entries.line_decoder import DECODE_ERRORS
from turnlog.entries.patch import (
    RawValues,
    encode_json_line,
    get_blank_after,
    get_blank_before,
    join_raw_values,
    read_raw_values,
)

UNTOUCHED_TEXT_KEYS = frozenset(
    "message content lastPrompt summary rendered renderedInHumanTurn customTitle aiTitle".split()
)
"""Top-level values that are text, in which ids are not replaced."""
_KEYS_WITHOUT_IDS = UNTOUCHED_TEXT_KEYS | frozenset(
    "type subtype version cwd gitBranch timestamp isSidechain userType requestId isMeta toolUseID slug level entrypoint"
    " permissionMode agentId requestRef origin isCompactSummary isVisibleInTranscriptOnly parentToolUseID"
    " sourceToolUseID promptSource turnOrigin requestedModel effort".split()
)
"""Top-level values that never contain entry ids; they make up most of a file."""
_OWN_ID_KEYS = frozenset({"uuid", "promptId", *LINK_KEYS})
_REFERENCE_KEYS = frozenset(LINK_KEYS) - {"parentUuid"}
"""Top-level links that may refer elsewhere: to an entry in another session, or to an invented id."""
_SESSION_ID_KEYS = frozenset({"sessionId", "session_id"})
_SESSION_PATH_KEYS = frozenset({"persistedOutputPath", "outputFile", "realParentDir"})
"""Keys of paths into the session's own folders, at any depth."""
_ID_HINTS = {"data": (b'"uuid"',), "attachment": (b"uuid", b"Uuid", b"UUID", b"essageId"), "toolUseResult": ()}
"""By key: a value that contains none of these strings, nor the session's id, does not refer to an entry."""
_LINK_KEY_PATTERN = re.compile(r"(?:uuids?|Uuids?|UUID|[mM]essageId)$")
_FOREIGN_ID_KEYS = frozenset({"ownerAccountUuid", "ownerOrganizationUuid", "commandUuid"})
"""Keys that look like references to entries but are not."""
_DROPPED_KEYS = ("forkedFrom",)
"""Keys that a copy drops: only the source states what the source was forked from."""
_MIN_ID_VALUE_BYTES = 30
_MAX_ID_VALUE_BYTES = 600
"""A value below the minimum can't contain an id, and a string above the maximum is text."""
_QUOTED_UUID_BYTES = 38
_UUID_PATTERN = re.compile(rb"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_LINKED_ID_PATTERN = re.compile(
    rb'("(?P<key>' + b"|".join(key.encode() for key in sorted(_OWN_ID_KEYS)) + rb')"\s*:\s*)(?P<id>"[0-9a-f-]{36}")'
)
_NIL_UUID = b'"00000000-0000-0000-0000-000000000000"'
_UUID_VARIANT_DIGITS = {digit: "89ab"[at % 4] for at, digit in enumerate("0123456789abcdef")}
_split_list = msgspec.json.Decoder(list[Raw]).decode


class IdRenewer:
    """Replaces every id in a session and its sub-agents with a new one, consistently wherever the id occurs."""

    def __init__(self, old: str, new: str, uuids: Iterable[str] = ()) -> None:
        self.old, self.new = old, new
        self._session = Raw(encode_json_line(new))
        self._old, self._new = old.encode(), new.encode()
        self._old_quoted = encode_json_line(old)
        self._fresh = {_NIL_UUID: Raw(_NIL_UUID), encode_json_line(old): self._session}
        self._unrenewed: set[bytes] = set()
        self._owned: set[bytes] = set()
        """The ids that belong to an entry."""
        self._referred: set[bytes] = set()
        """The ids that were renewed because something refers to them."""
        self._foreign: set[bytes] = set()
        """Ids that a first pass did not find on any entry of the session; they are not replaced."""
        for uuid in uuids:
            self._owned.add(encode_json_line(uuid))
            self._renew_id(encode_json_line(uuid))

    @property
    def is_complete(self) -> bool:
        """Whether every id was correctly renewed or kept; if not, all lines must be renewed again."""
        return self._unrenewed.isdisjoint(self._fresh) and self._referred <= self._owned

    def reset_mistakes(self) -> None:
        """Prepare to renew all lines again after correcting the mistakes of the first pass."""
        self._unrenewed.clear()
        self._foreign |= self._referred - self._owned
        for quoted in self._foreign:
            self._fresh.pop(quoted, None)
        self._referred.clear()

    def renew_uuid(self, old: str) -> str:
        return bytes(self._renew_id(encode_json_line(old)))[1:-1].decode()

    def renew_line(self, raw: bytes) -> bytes:
        """Return a line of the session's files with new ids."""
        parts = read_raw_values(raw)
        if not parts:  # not an entry
            return self.renew_text(raw)
        for key in parts.keys() - _KEYS_WITHOUT_IDS:
            value = parts[key]
            if key in _OWN_ID_KEYS:
                old = bytes(value)
                if old[:1] == b'"':
                    parts[key] = self._renew_top_level(key, old)
            elif key in _SESSION_ID_KEYS:
                parts[key] = self._session
            elif key in _DROPPED_KEYS:
                del parts[key]
            elif len(value) > _MIN_ID_VALUE_BYTES:
                self._renew_nested(key, parts)
        if raw[:1] == b"{" and raw[-2:] == b"}\n":
            return join_raw_values(parts) + b"\n"
        return get_blank_before(raw) + join_raw_values(parts) + get_blank_after(raw)

    def renew_text(self, raw: bytes) -> bytes:
        """Renew the session's ids in bytes that do not form a single entry."""
        linked = _LINKED_ID_PATTERN.sub(
            lambda match: match[1] + bytes(self._renew_top_level(match["key"].decode(), match["id"])), raw
        )
        return _UUID_PATTERN.sub(lambda match: self._renew_known(b'"' + match[0] + b'"')[1:-1], linked)

    def _renew_id(self, quoted: bytes) -> Raw:
        renewed = self._fresh.get(quoted)
        if renewed is None:
            renewed = self._fresh[quoted] = Raw(f'"{create_uuid()}"'.encode())
        return renewed

    def _renew_top_level(self, key: str, quoted: bytes) -> Raw:
        """Return the new id for a top-level value that is an id or a reference."""
        if key in _REFERENCE_KEYS:
            return self._renew_link(quoted)
        if key == "uuid":
            self._owned.add(quoted)
        return self._renew_id(quoted)

    def _renew_link(self, quoted: bytes) -> Raw:
        """Return the new id for a reference, or the same id if no entry has it."""
        if quoted in self._foreign:
            return Raw(quoted)
        if quoted in (_NIL_UUID, self._old_quoted):
            return self._fresh[quoted]
        if quoted not in self._owned:
            self._referred.add(quoted)
        return self._renew_id(quoted)

    def _renew_known(self, quoted: bytes) -> bytes:
        """Return the new id for an id that belongs to the session; return other ids unchanged."""
        renewed = self._fresh.get(quoted)
        if renewed is None:
            self._unrenewed.add(quoted)
            return quoted
        return bytes(renewed)

    def _renew_nested(self, key: str, parts: RawValues) -> None:
        value = bytes(parts[key])
        if self._may_name_entry(key, value):
            new = self._renew_value(key, value)
            if new is not value:
                parts[key] = Raw(new)

    def _may_name_entry(self, key: str, value: bytes) -> bool:
        """Return whether a top-level value may refer to entries, without decoding it."""
        hints = _ID_HINTS.get(key)
        if hints is None:
            return _UUID_PATTERN.search(value) is not None or any(hint in value for hint in _ID_HINTS["attachment"])
        return any(hint in value for hint in hints) or self._old in value

    def _renew_value(self, key: str, value: bytes) -> bytes:
        """Return a nested value with new ids; long strings are treated as text and not changed."""
        first = value[:1]
        if first == b'"':
            is_link = _LINK_KEY_PATTERN.search(key) is not None and key not in _FOREIGN_ID_KEYS
            if len(value) == _QUOTED_UUID_BYTES and _UUID_PATTERN.fullmatch(value, 1, _QUOTED_UUID_BYTES - 1):
                return bytes(self._renew_link(value)) if is_link else self._renew_known(value)
            if is_link:  # an id that is not a uuid: it was written by hand or is not an entry's
                return self._renew_known(value)
            is_path = key in _SESSION_PATH_KEYS and len(value) < _MAX_ID_VALUE_BYTES and self._old in value
            return value.replace(self._old, self._new) if is_path else value
        if first == b"[":
            return self._renew_list(key, value)
        return self._renew_object(value) if first == b"{" else value

    def _renew_object(self, value: bytes) -> bytes:
        parts = read_raw_values(value)
        changed = False
        for key, raw in parts.items():
            if len(raw) > _MIN_ID_VALUE_BYTES or _LINK_KEY_PATTERN.search(key):
                inner = bytes(raw)
                new = self._renew_value(key, inner)
                if new is not inner:
                    parts[key], changed = Raw(new), True
        return join_raw_values(parts) if changed else value

    def _renew_list(self, key: str, value: bytes) -> bytes:
        try:
            items = [bytes(item) for item in _split_list(value)]
        except DECODE_ERRORS:
            return value
        are_links = _LINK_KEY_PATTERN.search(key) is not None
        fixed = [
            self._renew_value(key, item) if are_links or len(item) > _MIN_ID_VALUE_BYTES else item for item in items
        ]
        return b"[" + b",".join(fixed) + b"]" if fixed != items else value


def create_uuid() -> str:
    """Return an id for a new session or entry: a random version 4 uuid, like those that the client creates."""
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{_UUID_VARIANT_DIGITS[text[16]]}{text[17:20]}-{text[20:]}"
