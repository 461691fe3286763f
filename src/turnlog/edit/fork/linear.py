"""The form of a session that every version of the client resumes completely: `--portable`.

Old clients go up from the newest entry by parents alone. They lose parallel calls, everything above an entry of a type
they don't know, and what a compaction preserved. So only what would be resumed stays, written out as one line in the
order in which it is sent: one entry for each answer, its results directly behind it, ever later times. Prompts that
were typed while the model worked and the output of local commands become plain user entries.

What is lost: what was not part of the conversation any more (other branches, what compactions replaced), reports of
progress, side chains inside the file, and attachments, by which newer clients remind the model of files and modes.
"""

from __future__ import annotations

from turnlog.edit.draft import Draft, Row
from turnlog.edit.ending import going_on
from turnlog.edit.fork.exchange import Said, spoken
from turnlog.edit.fork.fork import STATES, last_prompt
from turnlog.edit.fork.reading import Reading, read_again
from turnlog.edit.identity import new_id
from turnlog.edit.links import LINKS
from turnlog.entries.entry import Body, Entry
from turnlog.entries.patch import GONE
from turnlog.errors import Refused
from turnlog.session.clock import iso, milliseconds, moment
from turnlog.session.resume.resume import thread
from turnlog.session.resume.rows import is_boundary
from turnlog.session.session import Session

_OWNED = ("file-history-snapshot", "file-history-delta")
_PRESERVED = ("preservedSegment", "preservedMessages")
_OF_ATTACHMENTS = {"attachment": GONE, "rendered": GONE, "renderedRole": GONE, "renderedInHumanTurn": GONE}
_OF_SYSTEM = {"subtype": GONE, "content": GONE, "level": GONE, "isMeta": GONE}


def linear(session: Session, draft: Draft, leaf: str | None = None) -> Draft:
    """Only what would be resumed, as one line that every client follows to its top."""
    read = read_again(draft)
    rows = thread(read.file, leaf).rows
    told = list(spoken(rows, read.file))
    if not told:
        raise Refused(f"{session.path}: nothing in it would be sent to a model, so there is nothing to write")
    line = _Line(draft, read)
    if (boundary := _boundary(read, rows)) is not None:
        line.add(boundary, _alone(read.file.body(boundary)))
    for said in told:
        line.add_said(said)
    prompt = last_prompt(session, rows[-1].uuid)
    end = going_on(line.last or "", prompt, session.session_id or "")
    return draft._replace(rows=(*line.rows, *line.metadata())).adding(end)


class _Line:
    """Rows, each the child of the one before it and later than that."""

    def __init__(self, draft: Draft, read: Reading) -> None:
        self._draft, self._read = draft, read
        self.rows: list[Row] = []
        self.last: str | None = None
        self._uuids: set[str] = set()
        self._time = -1.0
        self._answer: str | None = None

    def add(self, entry: Entry, changes: Body) -> None:
        """Put an entry behind the others."""
        row = self._draft.rows[self._read.places[entry.index]]
        uuid = entry.uuid if entry.uuid and entry.uuid not in self._uuids else new_id()
        time = milliseconds(self._draft.value(row, "timestamp"))
        self._time = self._time + 1 if time is None or time <= self._time else time
        changes = {
            **changes,
            "uuid": uuid,
            "parentUuid": self.last,
            "timestamp": iso(moment(self._time)),
        }
        self.rows.append(row._replace(changed={**row.changed, **changes}))
        self._uuids.add(uuid)
        self.last = uuid

    def add_said(self, said: Said) -> None:
        """Put an answer, or what was said to the model, behind the others."""
        changes: Body = {} if said.message is None else {"message": said.message}
        if said.entry.type == "attachment":
            changes |= {"type": "user", **_OF_ATTACHMENTS}
        elif said.entry.type == "system":
            changes |= {"type": "user", **_OF_SYSTEM}
        body = self._read.file.body(said.entry)
        for key in LINKS:
            if key in body and key != "parentUuid":
                changes[key] = self._answer if key == "sourceToolAssistantUUID" and self._answer else GONE
        self.add(said.entry, changes)
        if said.entry.type == "assistant":
            self._answer = self.last

    def metadata(self) -> list[Row]:
        """The last of each kind of metadata, and the snapshots of files that belong to what stays."""
        last: dict[str, Row] = {}
        owned: list[Row] = []
        for entry in self._read.file.entries:
            row = self._draft.rows[self._read.places[entry.index]]
            if entry.type in STATES and not entry.lost:
                last[entry.type or ""] = row
            elif entry.type in _OWNED and self._read.file.body(entry).get("messageId") in self._uuids:
                owned.append(row)
        return [*owned, *last.values()]


def _boundary(read: Reading, rows: list[Entry]) -> Entry | None:
    """The compaction that the conversation begins with: its summary hangs on it."""
    summary = next((row for row in rows if row.is_compact_summary), None)
    above = read.file.entries[summary.parent] if summary is not None and summary.parent >= 0 else None
    seen: set[int] = set()
    while above is not None and not is_boundary(above) and above.index not in seen:
        seen.add(above.index)
        above = read.file.entries[above.parent] if above.parent >= 0 else None
    return above if above is not None and is_boundary(above) else None


def _alone(body: Body) -> Body:
    """What changes in a compaction that nothing stands before: what it preserved is written out behind it."""
    facts = body.get("compactMetadata")
    left = {key: value for key, value in facts.items() if key not in _PRESERVED} if isinstance(facts, dict) else {}
    return {"logicalParentUuid": None, "compactMetadata": left}
