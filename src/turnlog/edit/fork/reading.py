"""A draft read again: what the edits so far have made of a session, with the row that each entry comes from."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from turnlog.edit.draft import Draft
from turnlog.entries.reader import Transcript


class DraftReading(NamedTuple):
    """A transcript of a draft."""

    file: Transcript
    places: dict[int, int]
    """The place of the row that an entry comes from, by the index of the entry."""


def reread_draft(draft: Draft) -> DraftReading:
    """Read a draft; one without any change is the file that it was made from."""
    if [row.item for row in draft.rows] == draft.file.items and not any(row.changed for row in draft.rows):
        return DraftReading(draft.file, draft.map_entry_places())
    lines = list(draft.iterate_lines())
    starts, end = [], 0
    for line in lines:
        starts.append(end)
        end += len(line)
    file = Transcript.from_bytes(b"".join(lines))
    return DraftReading(file, {entry.index: bisect_right(starts, entry.offset) - 1 for entry in file.entries})
