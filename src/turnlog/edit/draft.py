"""A session file while it is being edited: a draft is immutable, and each edit returns a new one.

A row is a line of the file, or a line that an edit created. A changed row stores only its changed top-level values;
everything else is written byte for byte as in the file, even if turnlog can't interpret it. When a row is removed,
references to it are redirected to its nearest remaining ancestor, never to the line before it, which would join two
branches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from turnlog.entries.entry import Body, Entry, EntryOrScrap, Scrap
from turnlog.entries.line_decoder import DECODE_ERRORS
from turnlog.entries.patch import REMOVE_KEY, encode_json_line, patch_entry
from turnlog.entries.reader import READ_BUFFER_BYTES, Transcript, TranscriptSource
from turnlog.work_progress import report_items

_NO_CHANGES: Mapping[str, Any] = MappingProxyType({})
_KNOWN_KEYS = {
    "uuid": "uuid",
    "parentUuid": "parent_uuid",
    "type": "type",
    "subtype": "subtype",
    "timestamp": "timestamp",
}
"""Keys whose values are available from an entry without decoding its line again."""
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
"""Top-level keys whose value is the uuid of another entry."""
NESTED_LINK_KEYS = ("snapshot", "summarizedTurnPromptUuids")
"""Top-level keys whose values contain uuids of other entries; for `compactMetadata` see `_relink_preserved`."""

_REFERENCE_KEYS = (*LINK_KEYS[1:], *NESTED_LINK_KEYS, "compactMetadata")
_decode_references = msgspec.json.Decoder(
    msgspec.defstruct("RowReferences", [(key, Any, msgspec.UNSET) for key in _REFERENCE_KEYS])
).decode

_LinkFollower = Callable[[str], str | None]
RowChanges = Mapping[int, Mapping[str, Any]]
"""New top-level values, by the position of the row."""


class DraftRow(NamedTuple):
    item: EntryOrScrap | None = None
    """The line in the file, or None for a line that an edit created."""
    changed: Mapping[str, Any] = _NO_CHANGES
    """Top-level keys with their new values, or `REMOVE_KEY`; for a line that an edit created, all its keys."""

    @property
    def entry(self) -> Entry | None:
        """The entry in the file, or None for scraps and for lines that an edit created."""
        return self.item if isinstance(self.item, Entry) else None


class Draft(NamedTuple):
    """A session file with the edits made to it so far."""

    file: Transcript
    rows: tuple[DraftRow, ...]

    @classmethod
    def from_transcript(cls, file: Transcript) -> Draft:
        """Start a draft with the unchanged file."""
        return cls(file, tuple(DraftRow(item) for item in file.items))

    # -- the current values of a row

    def get_value(self, row: DraftRow, key: str) -> Any:
        """Return a top-level value of a row, or None if the row doesn't have it."""
        if key in row.changed:
            value = row.changed[key]
            return None if value is REMOVE_KEY else value
        if (entry := row.entry) is None:
            return None
        if key in _KNOWN_KEYS and entry.flaw is None:
            return getattr(entry, _KNOWN_KEYS[key])
        return self.file.read_body(entry).get(key)

    def get_body(self, row: DraftRow) -> Body:
        """Return a row's whole object as a new dict, which is empty for a scrap."""
        whole = self.file.read_body(row.entry) if row.entry is not None else {}
        return {key: value for key, value in {**whole, **row.changed}.items() if value is not REMOVE_KEY}

    def get_uuid(self, row: DraftRow) -> str | None:
        if (entry := _get_unchanged_entry(row)) is not None:
            return entry.uuid
        uuid = self.get_value(row, "uuid")
        return uuid if isinstance(uuid, str) else None

    def get_parent_uuid(self, row: DraftRow) -> str | None:
        if (entry := _get_unchanged_entry(row)) is not None:
            return entry.parent_uuid or None
        uuid = self.get_value(row, "parentUuid")
        return uuid if isinstance(uuid, str) and uuid else None

    def map_entry_places(self) -> dict[int, int]:
        """Map the index of each entry to the position of its row."""
        return {item.index: at for at, row in enumerate(self.rows) if isinstance(item := row.item, Entry)}

    def map_replays(self) -> dict[int, list[int]]:
        """Map the position of each entry that was written again to those of its replays, which the client may use."""
        if not self.file.repeated:
            return {}
        replays, first = self.file.list_replays(), dict[str, int]()
        found: dict[int, list[int]] = {}
        for at, row in enumerate(self.rows):
            if not isinstance(item := row.item, Entry) or item.uuid is None:
                continue
            if item.index not in replays:
                first.setdefault(item.uuid, at)
            elif item.uuid in first:
                found.setdefault(first[item.uuid], []).append(at)
        return found

    # -- edits

    def with_changes(self, changes: RowChanges) -> Draft:
        """Return the draft with new values in some rows, given by position."""
        rows = list(self.rows)
        for at, values in changes.items():
            rows[at] = rows[at]._replace(changed={**rows[at].changed, **values})
        return self._replace(rows=tuple(rows))

    def without_rows(self, removed: Collection[int]) -> Draft:
        """Return the draft without some rows; redirect references to them to the nearest remaining ancestor."""
        if not removed:
            return self
        fixed = self.with_changes(_relink_rows(self, frozenset(removed)))
        return self._replace(rows=tuple(row for at, row in enumerate(fixed.rows) if at not in removed))

    def with_added_lines(self, *bodies: Body) -> Draft:
        """Return the draft with new lines at its end."""
        return self._replace(rows=self.rows + tuple(DraftRow(None, body) for body in bodies))

    @property
    def torn_bytes(self) -> int:
        """The length of an incomplete last line, or 0 if there is none."""
        return 0 if (torn := self._torn_line()) is None else torn.size

    def without_torn_end(self) -> Draft:
        """Return the draft without an incomplete last line, which would never be completed in a new file."""
        torn = self._torn_line()
        return self if torn is None else self._replace(rows=tuple(row for row in self.rows if row.item is not torn))

    def _torn_line(self) -> EntryOrScrap | None:
        last = next((row.item for row in reversed(self.rows) if row.item is not None), None)
        if last is None or not is_torn_line(last) or _is_mid_line(self, last):
            return None
        return None if self.file.source.read(last.end - 1, 1) == b"\n" else last

    # -- the result

    def iterate_lines(self, finish: Callable[[bytes], bytes] | None = None) -> Iterator[bytes]:
        """Yield all lines as they would be written, after passing each through `finish` if it is given."""
        return self._build_lines(report_items("writing", range(len(self.rows))), finish)

    def _build_lines(self, places: Iterable[int], finish: Callable[[bytes], bytes] | None = None) -> Iterator[bytes]:
        read = self.make_sequential_reader()
        for at in places:
            item, changed = self.rows[at]
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

    def count_bytes(self) -> int:
        """Count the bytes of all lines as they would be written, without reading lines that are written unchanged."""
        end = max((row.item.end for row in self.rows if row.item is not None), default=0)
        total = 0
        others = []
        for at, row in enumerate(self.rows):
            if (entry := _get_unchanged_entry(row)) is not None and entry.end < end:  # a whole line
                total += entry.size
            else:
                others.append(at)
        return total + sum(len(line) for line in self._build_lines(others))

    def make_sequential_reader(self) -> Callable[[int, int], bytes]:
        """Return a function that reads bytes of the file at an offset; it is fastest in the order of the file."""
        return _ReadWindow(self.file.source, max((row.item.end for row in self.rows if row.item), default=0)).read

    def _continues_line(self, at: int) -> bool:
        """Return whether the next row is on the same line in the file, and so must also share a line here."""
        item, following = self.rows[at].item, self.rows[at + 1].item if at + 1 < len(self.rows) else None
        return (
            item is not None
            and following is not None
            and item.end == following.offset
            and _is_mid_line(self, following)
        )

    def to_transcript(self) -> Transcript:
        """Read the result as a transcript, to be viewed or checked."""
        result = Transcript.from_bytes(b"".join(self.iterate_lines()))
        result.path = self.file.path  # for now, the draft shares the id and sub-agents of its source
        return result


def _get_unchanged_entry(row: DraftRow) -> Entry | None:
    """Return the entry in the file if the row is written as it is there and was decoded completely."""
    item = row.item
    return item if isinstance(item, Entry) and item.flaw is None and not row.changed else None


def is_torn_line(item: EntryOrScrap) -> bool:
    """Return whether an unterminated last line is incomplete: still being written, or full of NULs after a crash."""
    return isinstance(item, Scrap) and item.kind in ("torn", "padding")


class _ReadWindow:
    """A buffered reader for a file that is read from beginning to end."""

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


def _relink_rows(draft: Draft, removed: frozenset[int]) -> dict[int, dict[str, Any]]:
    """Return new values for all references to removed rows, by the position of the referring row."""
    parents = {
        uuid: draft.get_parent_uuid(draft.rows[at]) for at in removed if (uuid := draft.get_uuid(draft.rows[at]))
    }
    # If two rows have the same uuid, it still exists when one of them is removed.
    remaining = {uuid for at, row in enumerate(draft.rows) if at not in removed and (uuid := draft.get_uuid(row))}
    parents = {uuid: parent for uuid, parent in parents.items() if uuid not in remaining}

    def follow(uuid: str) -> str | None:
        seen = set()
        target: str | None = uuid
        while target is not None and target in parents and target not in seen:
            seen.add(target)
            target = parents[target]
        return None if target in seen else target

    row_changes = {}
    for at, row in enumerate(draft.rows):
        if at not in removed and (changes := _relink_row(draft, row, parents, follow)):
            row_changes[at] = changes
    return row_changes


def _relink_row(draft: Draft, row: DraftRow, parents: Container[str], follow: _LinkFollower) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    parent = draft.get_parent_uuid(row)
    if parent in parents and parent is not None:
        changes["parentUuid"] = follow(parent)
    if not _may_have_references(draft, row):
        return changes
    body = _read_references(draft, row)
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


def _read_references(draft: Draft, row: DraftRow) -> Body:
    """Return the values of a row that may refer to others; the rest of a long line is not decoded."""
    entry = _get_unchanged_entry(row)
    if entry is None:
        return draft.get_body(row)
    try:
        found = _decode_references(draft.file.read_raw(entry))
    except DECODE_ERRORS:
        return draft.get_body(row)
    return {key: value for key in _REFERENCE_KEYS if (value := getattr(found, key)) is not msgspec.UNSET}


def _relink_preserved(draft: Draft, facts: Body, removed: Container[str], follow: _LinkFollower) -> Body:
    """Remove rows from a compaction's list of preserved rows: if one is missing, the client drops all of them."""
    messages, segment = facts.get("preservedMessages"), facts.get("preservedSegment")
    if isinstance(messages, dict):
        lists = {
            key: [one for one in value if one not in removed]
            for key, value in messages.items()
            if isinstance(value, list)
        }
        anchor = messages.get("anchorUuid")
        fixed = {**messages, **lists, "anchorUuid": follow(anchor) if isinstance(anchor, str) else anchor}
        if fixed == messages:
            return facts
        return {**{key: value for key, value in facts.items() if key != "preservedSegment"}, "preservedMessages": fixed}
    if (
        isinstance(segment, dict)
        and (uuids := _list_segment_uuids(draft, segment))
        and any(uuid in removed for uuid in uuids)
    ):
        anchor = segment.get("anchorUuid")
        preserved = {
            "anchorUuid": follow(anchor) if isinstance(anchor, str) else anchor,
            "uuids": [uuid for uuid in uuids if uuid not in removed],
        }
        return {
            **{key: value for key, value in facts.items() if key != "preservedSegment"},
            "preservedMessages": preserved,
        }
    return facts


def _list_segment_uuids(draft: Draft, segment: Body) -> list[str]:
    """List the uuids from the head of a preserved segment to its tail; the list is empty if they aren't connected."""
    parents = {draft.get_uuid(row): draft.get_parent_uuid(row) for row in draft.rows}
    head, at = segment.get("headUuid"), segment.get("tailUuid")
    uuids: list[str] = []
    while isinstance(at, str) and at in parents and at not in uuids:
        uuids.append(at)
        if at == head:
            return uuids[::-1]
        at = parents[at]
    return []


def _may_have_references(draft: Draft, row: DraftRow) -> bool:
    """Return whether a row may refer to anything other than its parent, without decoding most lines."""
    kind = draft.get_value(row, "type")
    return kind not in ("assistant", "progress", "attachment")


def _relink_value(value: Any, parents: Container[str], follow: _LinkFollower) -> Any:
    """Replace all uuids in a value with their new targets; drop uuids without a target from lists."""
    if isinstance(value, str):
        return follow(value) if value in parents else value
    if isinstance(value, list):
        followed = [_relink_value(item, parents, follow) for item in value]
        return list(dict.fromkeys(item for item in followed if item is not None)) if followed != value else value
    if isinstance(value, dict):
        return {key: _relink_value(item, parents, follow) for key, item in value.items()}
    return value
