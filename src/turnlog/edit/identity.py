"""New ids for a session: its own, and that of every entry, with all references to them.

A session and its copy would otherwise be told apart by nothing: the client counts a message once by its uuid, and an
entry that refers to another must find the one of its own file. What people and models said stays as it is, letter by
letter, also where an id stands in it; so do signatures, and the ids of messages, requests and calls: those are the
API's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import msgspec
from msgspec import Raw

from turnlog.edit.links import LINKS
from turnlog.entries.decode import FAILURES
from turnlog.entries.patch import Values, blank_before, blank_behind, encoded, joined, values

TEXTS = frozenset("message content lastPrompt summary rendered renderedInHumanTurn customTitle aiTitle".split())
"""Top-level values that are texts, in which nothing is replaced."""
_PLAIN = TEXTS | frozenset(
    "type subtype version cwd gitBranch timestamp isSidechain userType requestId isMeta toolUseID slug level entrypoint"
    " permissionMode agentId requestRef origin isCompactSummary isVisibleInTranscriptOnly parentToolUseID"
    " sourceToolUseID promptSource turnOrigin requestedModel effort".split()
)
"""Top-level values in which there are no ids of entries; most of all bytes are in them."""
_OWN = frozenset({"uuid", "promptId", *LINKS})
_REFERENCES = frozenset(LINKS) - {"parentUuid"}
"""Top-level links that may name something elsewhere: an entry of another session, or an id that was made up."""
_SESSION = frozenset({"sessionId", "session_id"})
_PATHS = frozenset({"persistedOutputPath", "outputFile", "realParentDir"})
"""Keys of paths into the session's own folders, wherever they stand."""
_HINTS = {"data": (b'"uuid"',), "attachment": (b"uuid", b"Uuid", b"UUID", b"essageId"), "toolUseResult": ()}
"""Values that nearly every file has: without one of these in them, or the session's id, they name no entry."""
_LINK = re.compile(r"(?:uuids?|Uuids?|UUID|[mM]essageId)$")
_ELSEWHERE = frozenset({"ownerAccountUuid", "ownerOrganizationUuid", "commandUuid"})
"""Keys that look like those of references to entries, and are none."""
_DROPPED = ("forkedFrom",)
"""What a copy no longer says of itself: it was made from its source, and that says from what it was forked."""
_SHORT = 30
_LONG = 600
"""A shorter value holds no id, a longer string holds a text."""
_QUOTED = 38
_UUID = re.compile(rb"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_LINKED = re.compile(
    rb'("(?P<key>' + b"|".join(key.encode() for key in sorted(_OWN)) + rb')"\s*:\s*)(?P<id>"[0-9a-f-]{36}")'
)
_NOBODY = b'"00000000-0000-0000-0000-000000000000"'
_VARIANT = {digit: "89ab"[at % 4] for at, digit in enumerate("0123456789abcdef")}
_split_list = msgspec.json.Decoder(list[Raw]).decode


class Identity:
    """Gives every id of a session and its sub-agents a new one, the same wherever it stands."""

    def __init__(self, old: str, new: str, uuids: Iterable[str] = ()) -> None:
        self.old, self.new = old, new
        self._session = Raw(encoded(new))
        self._old, self._new = old.encode(), new.encode()
        self._old_quoted = encoded(old)
        self._fresh = {_NOBODY: Raw(_NOBODY), encoded(old): self._session}
        self._left: set[bytes] = set()
        self._owned: set[bytes] = set()
        """The ids that an entry was seen to have."""
        self._referred: set[bytes] = set()
        """The ids that were given new ones because something refers to them."""
        self._foreign: set[bytes] = set()
        """The ids that nothing of the session has, as a first pass has shown; they stay."""
        for uuid in uuids:
            self._owned.add(encoded(uuid))
            self._renewed(encoded(uuid))

    @property
    def is_complete(self) -> bool:
        """Whether each id was rightly renewed or passed over, as all lines have shown; else all must be done again."""
        return self._left.isdisjoint(self._fresh) and self._referred <= self._owned

    def again(self) -> None:
        """Forget what was wrong, before all lines are given once more."""
        self._left.clear()
        self._foreign |= self._referred - self._owned
        for quoted in self._foreign:
            self._fresh.pop(quoted, None)
        self._referred.clear()

    def uuid(self, old: str) -> str:
        """The new uuid of an entry."""
        return bytes(self._renewed(encoded(old)))[1:-1].decode()

    def line(self, raw: bytes) -> bytes:
        """A line of the session's files with new ids."""
        parts = values(raw)
        if not parts:  # no entry
            return self.text(raw)
        for key in parts.keys() - _PLAIN:
            value = parts[key]
            if key in _OWN:
                old = bytes(value)
                if old[:1] == b'"':
                    parts[key] = self._top_level(key, old)
            elif key in _SESSION:
                parts[key] = self._session
            elif key in _DROPPED:
                del parts[key]
            elif len(value) > _SHORT:
                self._nested(key, parts)
        if raw[:1] == b"{" and raw[-2:] == b"}\n":
            return joined(parts) + b"\n"
        return blank_before(raw) + joined(parts) + blank_behind(raw)

    def text(self, raw: bytes) -> bytes:
        """Bytes that are no entry, or several: all ids in them that are the session's get their new ones."""
        linked = _LINKED.sub(lambda found: found[1] + bytes(self._top_level(found["key"].decode(), found["id"])), raw)
        return _UUID.sub(lambda found: self._known(b'"' + found[0] + b'"')[1:-1], linked)

    def _renewed(self, quoted: bytes) -> Raw:
        found = self._fresh.get(quoted)
        if found is None:
            found = self._fresh[quoted] = Raw(f'"{new_id()}"'.encode())
        return found

    def _top_level(self, key: str, quoted: bytes) -> Raw:
        """The new id for the value of a top-level key that holds one."""
        if key in _REFERENCES:
            return self._linked(quoted)
        if key == "uuid":
            self._owned.add(quoted)
        return self._renewed(quoted)

    def _linked(self, quoted: bytes) -> Raw:
        """The new id for one that something refers to; it stays where no entry has it."""
        if quoted in self._foreign:
            return Raw(quoted)
        if quoted in (_NOBODY, self._old_quoted):
            return self._fresh[quoted]
        if quoted not in self._owned:
            self._referred.add(quoted)
        return self._renewed(quoted)

    def _known(self, quoted: bytes) -> bytes:
        """The new id for one that is the session's; others stay."""
        found = self._fresh.get(quoted)
        if found is None:
            self._left.add(quoted)
            return quoted
        return bytes(found)

    def _nested(self, key: str, parts: Values) -> None:
        value = bytes(parts[key])
        if self._may_name(key, value):
            new = self._within(key, value)
            if new is not value:
                parts[key] = Raw(new)

    def _may_name(self, key: str, value: bytes) -> bool:
        """Whether a top-level value may name entries; a look at most values is enough."""
        hints = _HINTS.get(key)
        if hints is None:
            return _UUID.search(value) is not None or any(hint in value for hint in _HINTS["attachment"])
        return any(hint in value for hint in hints) or self._old in value

    def _within(self, key: str, value: bytes) -> bytes:
        """A nested value with new ids; long strings are texts."""
        first = value[:1]
        if first == b'"':
            is_link = _LINK.search(key) is not None and key not in _ELSEWHERE
            if len(value) == _QUOTED and _UUID.fullmatch(value, 1, _QUOTED - 1):
                return bytes(self._linked(value)) if is_link else self._known(value)
            if is_link:  # an id that is no uuid: hand-made, or not an entry's
                return self._known(value)
            is_path = key in _PATHS and len(value) < _LONG and self._old in value
            return value.replace(self._old, self._new) if is_path else value
        if first == b"[":
            return self._of_list(key, value)
        return self._of_object(value) if first == b"{" else value

    def _of_object(self, value: bytes) -> bytes:
        parts = values(value)
        changed = False
        for key, raw in parts.items():
            if len(raw) > _SHORT or _LINK.search(key):
                inner = bytes(raw)
                new = self._within(key, inner)
                if new is not inner:
                    parts[key], changed = Raw(new), True
        return joined(parts) if changed else value

    def _of_list(self, key: str, value: bytes) -> bytes:
        try:
            items = [bytes(item) for item in _split_list(value)]
        except FAILURES:
            return value
        are_links = _LINK.search(key) is not None
        fixed = [self._within(key, item) if are_links or len(item) > _SHORT else item for item in items]
        return b"[" + b",".join(fixed) + b"]" if fixed != items else value


def new_id() -> str:
    """An id for a new session or entry: a random uuid of version 4, as the client makes them."""
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{_VARIANT[text[16]]}{text[17:20]}-{text[20:]}"
