"""A session file on its way through edits: a value that edits take and give.

A row is a line of the file, or one that an edit made up. Of a row that is changed, only the changed top-level values
are kept; everything else stays byte for byte what it is in the file, also what nobody understands. Removed rows
leave no hole: a reference to one leads to that row's own nearest ancestor that stays, never to the line before it,
which would join two branches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from turnlog.entries.entry import Body, Entry, EntryOrScrap, Scrap
from turnlog.entries.patch import REMOVE_KEY, encode_json_line, patch_entry
from turnlog.entries.reader import READ_BUFFER_BYTES, Transcript, TranscriptSource

_NO_CHANGES: Mapping[str, Any] = MappingProxyType({})
_KNOWN_KEYS = {
    "uuid": "uuid",
    "parentUuid": "parent_uuid",
    "type": "type",
    "subtype": "subtype",
    "timestamp": "timestamp",
}
"""Keys that an entry knows without being read again."""
LINK_KEYS = (
    "parentUuid",
    "logicalParentUuid",
    "leafUuid",
    "messageId",
    "snapshotMessageId",
    "sourceToolAssistantUUID",
    "interruptedMessageId",
    "parentLastUuid",
)
"""Top-level keys that hold the uuid of another entry."""
NESTED_LINK_KEYS = ("snapshot", "summarizedTurnPromptUuids")
"""Top-level keys whose values hold uuids of other entries; so does `compactMetadata`, see `_relink_preserved`."""

_LinkFollower = Callable[[str], str | None]
RowChanges = Mapping[int, Mapping[str, Any]]
"""Top-level values by the place of a row."""


class DraftRow(NamedTuple):
    """One line of a session on its way."""

    item: EntryOrScrap | None = None
    """What it is in the file; None: a line that an edit made up."""
    changed: Mapping[str, Any] = _NO_CHANGES
    """Top-level keys with their new values, or GONE. Of a made-up line: all of it."""

    @property
    def entry(self) -> Entry | None:
        """The entry of the file; None for scraps and made-up lines."""
        return self.item if isinstance(self.item, Entry) else None


class Draft(NamedTuple):
    """A session file on its way through edits."""

    file: Transcript
    rows: tuple[DraftRow, ...]

    @classmethod
    def from_transcript(cls, file: Transcript) -> Draft:
        """The file as it stands."""
        return cls(file, tuple(DraftRow(item) for item in file.items))

    # -- what a row says now

    def get_value(self, row: DraftRow, key: str) -> Any:
        """One top-level value of a row, None if it has none."""
        if key in row.changed:
            found = row.changed[key]
            return None if found is REMOVE_KEY else found
        if (entry := row.entry) is None:
            return None
        if key in _KNOWN_KEYS and entry.flaw is None:
            return getattr(entry, _KNOWN_KEYS[key])
        return self.file.read_body(entry).get(key)

    def get_body(self, row: DraftRow) -> Body:
        """The whole object of a row, as a dict of its own; empty for a scrap."""
        whole = self.file.read_body(row.entry) if row.entry is not None else {}
        return {key: value for key, value in {**whole, **row.changed}.items() if value is not REMOVE_KEY}

    def get_uuid(self, row: DraftRow) -> str | None:
        """The uuid of a row."""
        found = self.get_value(row, "uuid")
        return found if isinstance(found, str) else None

    def get_parent_uuid(self, row: DraftRow) -> str | None:
        """The uuid of the row's parent."""
        found = self.get_value(row, "parentUuid")
        return found if isinstance(found, str) and found else None

    def map_entry_places(self) -> dict[int, int]:
        """The place of each entry's row, by the index of the entry."""
        return {row.entry.index: at for at, row in enumerate(self.rows) if row.entry is not None}

    # -- edits

    def with_changes(self, changes: RowChanges) -> Draft:
        """With other values in some rows, by their place."""
        rows = list(self.rows)
        for at, values in changes.items():
            rows[at] = rows[at]._replace(changed={**rows[at].changed, **values})
        return self._replace(rows=tuple(rows))

    def without_rows(self, gone: Collection[int]) -> Draft:
        """Without some rows, by their place; references to them go to their own nearest ancestor that stays."""
        if not gone:
            return self
        fixed = self.with_changes(_relink_rows(self, frozenset(gone)))
        return self._replace(rows=tuple(row for at, row in enumerate(fixed.rows) if at not in gone))

    def with_added_lines(self, *bodies: Body) -> Draft:
        """With lines behind all others."""
        return self._replace(rows=self.rows + tuple(DraftRow(None, body) for body in bodies))

    @property
    def torn_bytes(self) -> int:
        """How long a last line is that is cut off; 0 if there is none."""
        return 0 if (torn := self._torn_line()) is None else torn.size

    def without_torn_end(self) -> Draft:
        """Without a last line that is cut off: in a new file it would get an end, and be a broken line for ever."""
        torn = self._torn_line()
        return self if torn is None else self._replace(rows=tuple(row for row in self.rows if row.item is not torn))

    def _torn_line(self) -> EntryOrScrap | None:
        last = next((row.item for row in reversed(self.rows) if row.item is not None), None)
        if last is None or not is_torn_line(last) or _is_mid_line(self, last):
            return None
        return None if self.file.source.read(last.end - 1, 1) == b"\n" else last

    # -- what would be written

    def iterate_lines(self, finish: Callable[[bytes], bytes] | None = None) -> Iterator[bytes]:
        """All lines as they would be written; `finish` has the last word on each of them."""
        end = max((item.end for item, _ in self.rows if item is not None), default=0)
        read = _ReadWindow(self.file.source, end).read
        for at, (item, changed) in enumerate(self.rows):
            if item is None:
                raw = (
                    encode_json_line({key: value for key, value in changed.items() if value is not REMOVE_KEY}) + b"\n"
                )
            else:
                raw = read(item.offset, item.size)
                if changed and isinstance(item, Entry):
                    raw = patch_entry(raw, changed)
            if finish is not None:
                raw = finish(raw)
            if raw[-1:] != b"\n" and not self._continues_line(at):
                raw += b"\n"
            yield raw

    def _continues_line(self, at: int) -> bool:
        """Whether the row behind one stands on the same line in the file, and so it does here."""
        item, behind = self.rows[at].item, self.rows[at + 1].item if at + 1 < len(self.rows) else None
        return item is not None and behind is not None and item.end == behind.offset and _is_mid_line(self, behind)

    def to_transcript(self) -> Transcript:
        """The result, read again, for views and checks."""
        result = Transcript.from_bytes(b"".join(self.iterate_lines()))
        result.path = self.file.path  # its id is that of the source for now, and so are its sub-agents
        return result


def is_torn_line(item: EntryOrScrap) -> bool:
    """Whether a last line without an end is cut off, still being written, or what a crash left: NULs."""
    return isinstance(item, Scrap) and item.kind in ("torn", "padding")


class _ReadWindow:
    """Reads a file that is read from front to back in large pieces."""

    def __init__(self, source: TranscriptSource, end: int) -> None:
        self._source, self._end = source, end
        self._start, self._held = 0, b""

    def read(self, offset: int, size: int) -> bytes:
        at = offset - self._start
        if at < 0 or at + size > len(self._held):
            self._held = self._source.read(offset, max(size, min(READ_BUFFER_BYTES, self._end - offset)))
            self._start, at = offset, 0
        return self._held[at : at + size]


def _is_mid_line(draft: Draft, item: Entry | Scrap) -> bool:
    return item.offset > 0 and draft.file.source.read(item.offset - 1, 1) != b"\n"


# -- references between rows


def _relink_rows(draft: Draft, gone: frozenset[int]) -> dict[int, dict[str, Any]]:
    """New values for all references to rows that go, by the place of the row that refers."""
    parents = {uuid: draft.get_parent_uuid(draft.rows[at]) for at in gone if (uuid := draft.get_uuid(draft.rows[at]))}
    # A uuid that is written twice is still there when one of the two goes.
    stay = {uuid for at, row in enumerate(draft.rows) if at not in gone and (uuid := draft.get_uuid(row))}
    parents = {uuid: parent for uuid, parent in parents.items() if uuid not in stay}

    def follow(uuid: str) -> str | None:
        seen = set()
        found: str | None = uuid
        while found is not None and found in parents and found not in seen:
            seen.add(found)
            found = parents[found]
        return None if found in seen else found

    found = {}
    for at, row in enumerate(draft.rows):
        if at not in gone and (changes := _relink_row(draft, row, parents, follow)):
            found[at] = changes
    return found


def _relink_row(draft: Draft, row: DraftRow, parents: Container[str], follow: _LinkFollower) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    parent = draft.get_parent_uuid(row)
    if parent in parents and parent is not None:
        changes["parentUuid"] = follow(parent)
    if not _may_have_references(draft, row):
        return changes
    body = draft.get_body(row)
    for key in LINK_KEYS[1:]:
        if isinstance(uuid := body.get(key), str) and uuid in parents:
            changes[key] = follow(uuid) or (REMOVE_KEY if key != "logicalParentUuid" else None)
    for key in NESTED_LINK_KEYS:
        if key in body and (value := _relink_value(body[key], parents, follow)) != body[key]:
            changes[key] = value
    if (
        isinstance(facts := body.get("compactMetadata"), dict)
        and (fixed := _relink_preserved(draft, facts, parents, follow)) != facts
    ):
        changes["compactMetadata"] = fixed
    return changes


def _relink_preserved(draft: Draft, facts: Body, gone: Container[str], follow: _LinkFollower) -> Body:
    """What a compaction kept word for word, without the rows that go: one that is missing would lose them all."""
    messages, segment = facts.get("preservedMessages"), facts.get("preservedSegment")
    if isinstance(messages, dict):
        lists = {
            key: [one for one in value if one not in gone] for key, value in messages.items() if isinstance(value, list)
        }
        anchor = messages.get("anchorUuid")
        fixed = {**messages, **lists, "anchorUuid": follow(anchor) if isinstance(anchor, str) else anchor}
        if fixed == messages:
            return facts
        return {**{key: value for key, value in facts.items() if key != "preservedSegment"}, "preservedMessages": fixed}
    if (
        isinstance(segment, dict)
        and (uuids := _list_segment_uuids(draft, segment))
        and any(uuid in gone for uuid in uuids)
    ):
        anchor = segment.get("anchorUuid")
        kept = {
            "anchorUuid": follow(anchor) if isinstance(anchor, str) else anchor,
            "uuids": [uuid for uuid in uuids if uuid not in gone],
        }
        return {**{key: value for key, value in facts.items() if key != "preservedSegment"}, "preservedMessages": kept}
    return facts


def _list_segment_uuids(draft: Draft, segment: Body) -> list[str]:
    """The uuids from the head of a preserved segment to its tail; none if they don't hang together."""
    parents = {draft.get_uuid(row): draft.get_parent_uuid(row) for row in draft.rows}
    head, at = segment.get("headUuid"), segment.get("tailUuid")
    found: list[str] = []
    while isinstance(at, str) and at in parents and at not in found:
        found.append(at)
        if at == head:
            return found[::-1]
        at = parents[at]
    return []


def _may_have_references(draft: Draft, row: DraftRow) -> bool:
    """Whether a row has other references than to its parent; most lines need not be read for that."""
    kind = draft.get_value(row, "type")
    return kind not in ("assistant", "progress", "attachment")


def _relink_value(value: Any, parents: Container[str], follow: _LinkFollower) -> Any:
    """A value with all uuids in it followed; those that lead nowhere go from lists."""
    if isinstance(value, str):
        return follow(value) if value in parents else value
    if isinstance(value, list):
        followed = [_relink_value(item, parents, follow) for item in value]
        return list(dict.fromkeys(item for item in followed if item is not None)) if followed != value else value
    if isinstance(value, dict):
        return {key: _relink_value(item, parents, follow) for key, item in value.items()}
    return value
