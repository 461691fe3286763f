"""A file's graph rows as the newest client loads them when it resumes: one per uuid, linked upwards.

The code follows Claude Code 2.1.325 rule by rule; the numbers in brackets refer to docs/format.md, "How a session is
resumed".
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice

from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.session.clock import to_epoch_milliseconds
from turnlog.session.graph import GRAPH_TYPES, is_boundary

MAX_ATTACH_GAP_MS = 5000
"""How much newer a row may be than the row to which it is attached if its parent is missing [15]."""
LARGE_FILE_BYTES = 5 << 20
"""In a larger file, the client reads no rows from before the last compaction except the preserved ones [9]."""

RowKey = str | None
"""A uuid; rows without one share the key None, and only the last of them survives [3]."""


class ResumeRows:
    """The rows by uuid, with the parent of each after compaction."""

    def __init__(self, file: Transcript) -> None:
        self.file = file
        self.rows: dict[RowKey, Entry] = {}
        for entry in file.entries:
            if entry.type in GRAPH_TYPES and not entry.is_lost:
                # A repeated uuid has the place of its first row and the content of its last [3].
                self.rows[entry.uuid] = entry
        self.up = {key: self._find_real_parent(row) for key, row in self.rows.items() if row.type != "progress"}
        self._apply_compaction()

    @cached_property
    def place(self) -> dict[RowKey, int]:
        """The position of each row in file order."""
        return {key: number for number, key in enumerate(self.rows)}

    @cached_property
    def boundary(self) -> int:
        """The position of the last compaction, or -1."""
        return max((place for key, place in self.place.items() if is_boundary(self.rows[key])), default=-1)

    @cached_property
    def children(self) -> dict[RowKey, list[RowKey]]:
        """The children of each row, in file order."""
        found: dict[RowKey, list[RowKey]] = {}
        for key, parent in self.up.items():
            if parent is not None:
                found.setdefault(parent, []).append(key)
        return found

    def find_descendants(self, keys: Iterable[RowKey]) -> set[RowKey]:
        """Return the given rows and all their descendants."""
        found: set[RowKey] = set()
        todo = list(keys)
        while todo:
            key = todo.pop()
            if key not in found:
                found.add(key)
                todo += self.children.get(key, [])
        return found

    def build_chain(self, key: RowKey) -> list[Entry]:
        """List the rows from the top down to the given one; the chain starts after a compaction [6]."""
        rows = []
        for above in self._walk_up(key):
            row = self.rows[above]
            if is_boundary(row):
                break
            rows.append(row)
        return rows[::-1]

    def read_time_ms(self, row: Entry) -> float | None:
        """Return when a row was written, in milliseconds since 1970."""
        return to_epoch_milliseconds(
            row.timestamp if row.timestamp is not None else self.file.read_body(row).get("timestamp")
        )

    def _walk_up(self, key: RowKey) -> Iterator[RowKey]:
        """Yield a row, then its parent and so on; a cycle ends at the first repeated row [14]."""
        seen: set[RowKey] = set()
        while key in self.up and key not in seen:
            yield key
            seen.add(key)
            parent = self.up[key]
            if parent is None:
                return
            if parent in self.rows:
                key = parent
            elif (key := self._find_nearest(self.rows[key], seen)) is None:
                return

    def _find_real_parent(self, row: Entry) -> RowKey:
        """Return the parent, skipping progress rows [5]."""
        parent = row.parent_uuid or None
        if parent is None or (above := self.rows.get(parent)) is None or above.type != "progress":
            return parent
        seen = set()
        while parent is not None and parent not in seen:
            above = self.rows.get(parent)
            if above is None or above.type != "progress":
                return parent
            seen.add(parent)
            parent = above.parent_uuid or None
        return None

    def _apply_compaction(self) -> None:
        """Attach the rows preserved by the last compaction to its anchor, and drop all other rows before it [6-9]."""
        boundary = next((row for row in reversed(self.rows.values()) if is_boundary(row)), None)
        if boundary is None:
            return
        metadata = self.file.read_body(boundary).get("compactMetadata")
        anchor, preserved = self._read_preserved(metadata if isinstance(metadata, dict) else {})
        if not all(key in self.up for key in preserved):
            preserved = []
        if not preserved and self.file.entries[-1].end <= LARGE_FILE_BYTES:
            return
        limit = self.place[boundary.uuid]
        dropped = set(islice(self.rows, limit)) - set(preserved)
        self.rows = {key: row for key, row in self.rows.items() if key not in dropped}
        self.up = {key: parent for key, parent in self.up.items() if key not in dropped}
        for key, parent in self.up.items() if preserved else ():
            if parent in dropped or (parent is not None and parent == anchor):
                self.up[key] = preserved[-1]
        self.up.update(zip(preserved, [anchor, *preserved[:-1]], strict=False))
        self.__dict__.pop("_rows_by_time", None)
        del self.place

    def _read_preserved(self, metadata: dict[str, object]) -> tuple[RowKey, list[str]]:
        """Return the anchor and the preserved rows in the order in which they are sent [7]."""
        messages, segment = metadata.get("preservedMessages"), metadata.get("preservedSegment")
        if isinstance(messages, dict) and isinstance(messages.get("uuids"), list):
            return _to_text(messages.get("anchorUuid")), [str(uuid) for uuid in messages["uuids"]]
        if isinstance(segment, dict):
            head, tail = _to_text(segment.get("headUuid")), _to_text(segment.get("tailUuid"))
            upwards = [key for key in self._walk_up(tail) if key is not None]
            preserved = upwards[: upwards.index(head) + 1] if head in upwards else []
            return _to_text(segment.get("anchorUuid")), preserved[::-1]
        return None, []

    @cached_property
    def _rows_by_time(self) -> list[tuple[float, int, RowKey]]:
        """The rows to which others may be attached, oldest first; those with equal times are in reverse file order."""
        real = ((key, row) for key, row in self.rows.items() if key in self.up and not row.is_sidechain)
        timed = [(time, -self.place[key], key) for key, row in real if (time := self.read_time_ms(row)) is not None]
        return sorted(timed, key=lambda item: item[:2])

    def _find_nearest(self, row: Entry, seen: set[RowKey]) -> RowKey:
        """Find the row to which an orphan is attached: the newest one that is at most a few seconds older [15]."""
        own = self.read_time_ms(row)
        if own is None:
            return None
        at = bisect_right(self._rows_by_time, own, key=lambda item: item[0])
        for time, _, key in reversed(self._rows_by_time[:at]):
            if time < own - MAX_ATTACH_GAP_MS:
                return None
            if key not in seen:
                return key
        return None


def _to_text(value: object) -> str | None:
    return value if isinstance(value, str) else None
