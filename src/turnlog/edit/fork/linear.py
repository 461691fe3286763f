"""Converts a session to a form that every version of the client resumes completely (`--portable`).

Old clients follow parents upwards from the newest entry. They lose parallel calls, everything above an entry of an
unknown type, and what a compaction preserved. The converted session therefore contains only what would be resumed, as a
single chain in the order in which it is sent: one entry for each answer, its results directly after it, with increasing
times. Prompts that were typed while the model was working and the output of local commands become plain user entries.

The result does not contain other branches, what compactions replaced, progress entries, sidechains inside the file, or
the attachments with which newer clients remind the model of files and modes.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from turnlog.edit.closing_entries import build_leaf_entry, find_last_prompt
from turnlog.edit.draft import LINK_KEYS, Draft, DraftRow
from turnlog.edit.fork.exchange import SpokenEntry, list_spoken_entries
from turnlog.edit.fork.fork import LAST_WINS_TYPES
from turnlog.edit.id_renewal import create_uuid
from turnlog.entries.entry import Body, Entry
from turnlog.entries.patch import REMOVE_KEY
from turnlog.entries.reader import Transcript
from turnlog.errors import Refused
from turnlog.session.clock import parse_timestamp, to_epoch_milliseconds, to_iso_time
from turnlog.session.graph import is_boundary
from turnlog.session.resume.resume_thread import build_resume_thread
from turnlog.session.session import Session


class DraftReading(NamedTuple):
    """A draft read as a transcript."""

    file: Transcript
    places: dict[int, int]
    """The position of each entry's row, by the index of the entry."""


def reread_draft(draft: Draft) -> DraftReading:
    """Read a draft as a transcript; for an unchanged draft, use its source file."""
    if [row.item for row in draft.rows] == draft.file.items and not any(row.changed for row in draft.rows):
        return DraftReading(draft.file, draft.map_entry_places())
    lines = list(draft.iterate_lines())
    starts, end = [], 0
    for line in lines:
        starts.append(end)
        end += len(line)
    file = Transcript.from_bytes(b"".join(lines))
    return DraftReading(file, {entry.index: bisect_right(starts, entry.offset) - 1 for entry in file.entries})


_FILE_HISTORY_TYPES = ("file-history-snapshot", "file-history-delta")
_PRESERVED_KEYS = ("preservedSegment", "preservedMessages")
_WITHOUT_ATTACHMENT_KEYS = {
    "attachment": REMOVE_KEY,
    "rendered": REMOVE_KEY,
    "renderedRole": REMOVE_KEY,
    "renderedInHumanTurn": REMOVE_KEY,
}
_WITHOUT_SYSTEM_KEYS = {"subtype": REMOVE_KEY, "content": REMOVE_KEY, "level": REMOVE_KEY, "isMeta": REMOVE_KEY}


def linearise_draft(session: Session, draft: Draft, leaf: str | None = None) -> Draft:
    """Reduce a draft to what would be resumed, as one chain that every client can follow to its start."""
    read = reread_draft(draft)
    rows = build_resume_thread(read.file, leaf).rows
    entries = list(list_spoken_entries(rows, read.file))
    if not entries:
        raise Refused(f"{session.path}: the session contains nothing to send to a model, so there is nothing to write")
    chain = _LinearRows(draft, read)
    if (boundary := _find_boundary(read, rows)) is not None:
        chain.add_entry(boundary, _drop_preserved_facts(read.file.read_body(boundary)))
    for spoken in entries:
        chain.add_spoken_entry(spoken)
    prompt = find_last_prompt(session, rows[-1].uuid)
    leaf_entry = build_leaf_entry(chain.last or "", prompt, session.session_id or "")
    return draft._replace(rows=(*chain.rows, *chain.select_metadata())).with_added_lines(leaf_entry)


class _LinearRows:
    """A chain of rows, each of which is the child of the previous row and has a later time."""

    def __init__(self, draft: Draft, read: DraftReading) -> None:
        self._draft, self._read = draft, read
        self.rows: list[DraftRow] = []
        self.last: str | None = None
        self._uuids: set[str] = set()
        self._time = -1.0
        self._answer: str | None = None

    def add_entry(self, entry: Entry, changes: Body) -> None:
        row = self._draft.rows[self._read.places[entry.index]]
        uuid = entry.uuid if entry.uuid and entry.uuid not in self._uuids else create_uuid()
        time = to_epoch_milliseconds(self._draft.get_value(row, "timestamp"))
        self._time = self._time + 1 if time is None or time <= self._time else time
        changes = {
            **changes,
            "uuid": uuid,
            "parentUuid": self.last,
            "timestamp": to_iso_time(parse_timestamp(self._time)),
        }
        self.rows.append(row._replace(changed={**row.changed, **changes}))
        self._uuids.add(uuid)
        self.last = uuid

    def add_spoken_entry(self, spoken: SpokenEntry) -> None:
        """Append an answer, or what was said to the model, to the chain."""
        changes: Body = {} if spoken.message is None else {"message": spoken.message}
        if spoken.entry.type == "attachment":
            changes |= {"type": "user", **_WITHOUT_ATTACHMENT_KEYS}
        elif spoken.entry.type == "system":
            changes |= {"type": "user", **_WITHOUT_SYSTEM_KEYS}
        body = self._read.file.read_body(spoken.entry)
        for key in LINK_KEYS:
            if key in body and key != "parentUuid":
                changes[key] = self._answer if key == "sourceToolAssistantUUID" and self._answer else REMOVE_KEY
        self.add_entry(spoken.entry, changes)
        if spoken.entry.type == "assistant":
            self._answer = self.last

    def select_metadata(self) -> list[DraftRow]:
        """Select the last entry of each kind of metadata, and the file snapshots that belong to kept rows."""
        last: dict[str, DraftRow] = {}
        owned: list[DraftRow] = []
        for entry in self._read.file.entries:
            row = self._draft.rows[self._read.places[entry.index]]
            if entry.type in LAST_WINS_TYPES and not entry.is_lost:
                last[entry.type or ""] = row
            elif entry.type in _FILE_HISTORY_TYPES and self._read.file.read_body(entry).get("messageId") in self._uuids:
                owned.append(row)
        return [*owned, *last.values()]


def _find_boundary(read: DraftReading, rows: list[Entry]) -> Entry | None:
    """Find the compaction that the conversation starts with: it is an ancestor of the summary."""
    summary = next((row for row in rows if row.is_compact_summary), None)
    above = read.file.entries[summary.parent] if summary is not None and summary.parent >= 0 else None
    seen: set[int] = set()
    while above is not None and not is_boundary(above) and above.index not in seen:
        seen.add(above.index)
        above = read.file.entries[above.parent] if above.parent >= 0 else None
    return above if above is not None and is_boundary(above) else None


def _drop_preserved_facts(body: Body) -> Body:
    """Return the changes to a compaction that becomes the first row; the rows it preserved are written after it."""
    facts = body.get("compactMetadata")
    remaining = (
        {key: value for key, value in facts.items() if key not in _PRESERVED_KEYS} if isinstance(facts, dict) else {}
    )
    return {"logicalParentUuid": None, "compactMetadata": remaining}
