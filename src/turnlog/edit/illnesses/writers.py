"""Illnesses of a file with several writers: repeated uuids, entries from another session, or two clients.

How copies of a uuid are separated:

the same entry again            one is kept
a rewritten entry               the last version is kept, as in the newest client, in the place of the first; an
                                earlier version with different text is kept beside it as a branch
two entries that share a uuid   the later one gets a new uuid, and references in later entries are changed to it
"""

from __future__ import annotations

from typing import Any

from turnlog.edit.draft import LINK_KEYS, Draft, DraftRow
from turnlog.edit.id_renewal import create_uuid
from turnlog.edit.illnesses.branch_switches import find_branch_switches
from turnlog.edit.illnesses.illness import Illness, RepairAttempt, RepairCase, Symptoms
from turnlog.edit.illnesses.resume_view import ResumeView
from turnlog.entries.entry import Entry
from turnlog.render.figures import format_count, format_size
from turnlog.session.graph import get_message_id, is_said

_MIN_BRANCH_SWITCHES = 3
"""How many times two branches must alternate in the file; a rewind is one switch, and a late answer is two."""


# -- detection


def detect_copies(view: ResumeView, symptoms: Symptoms) -> None:
    """Find uuids that occur more than once; identical copies are harmless."""
    file, replays = view.session.file, view.session.replays
    if view.session.graph.compactions and {row.type for row in replays if is_said(row)} == {"user", "assistant"}:
        size = format_size(sum(row.size for row in replays))
        text = f"earlier history is written again: {format_count(len(replays), 'entry', 'entries')}, {size}"
        symptoms.add_items("replayed-history", "warning", text, replays)
        replays = []
    for row in sorted([*view.session.graph.duplicates, *replays], key=lambda row: row.index):
        first = file.entries[file.by_uuid[row.uuid or ""]]
        if (row.parent_uuid, row.type) == (first.parent_uuid, first.type):
            symptoms.add_items("duplicate-uuid", "info", "an entry is written twice, with the same parent", [row])
        else:
            symptoms.add_items("duplicate-uuid", "warning", "two different entries have one uuid", [first, row])


def detect_strangers(view: ResumeView, symptoms: Symptoms) -> None:
    """Find entries from another session, except ancestors of this session's own entries, which a fork copies."""
    session, own = view.session, view.session.session_id
    kept = {entry.index for entry in session.entries if entry.session_id == own and entry.uuid}
    if not kept:
        return
    for index in list(kept):
        above = session.file.entries[index].parent
        while above >= 0 and above not in kept:
            kept.add(above)
            above = session.file.entries[above].parent
    others = [entry for entry in session.graph.rows if entry.session_id not in (None, own) and entry.index not in kept]
    symptoms.add_items("other-session", "warning", "an entry of another session is among its own", others)


def detect_parallel_writers(view: ResumeView, symptoms: Symptoms) -> None:
    """Find branches that grew at the same time."""
    session = view.session
    for fork, switches in find_branch_switches(session.graph, session.file.entries):
        if len(switches) >= _MIN_BRANCH_SWITCHES:
            text = "two branches grew at the same time"
            symptoms.add_items("two-writers", "warning", text, [fork, *switches])


# -- repair


def separate_copies(case: RepairCase) -> RepairAttempt:
    """Give each entry a unique uuid."""
    separator = _CopySeparator(case.draft)
    for uuid in dict.fromkeys(entry.uuid for entry in case.entries if entry.uuid):
        separator.separate_uuid(uuid)
    return RepairAttempt(separator.build_draft(), separator.removed + separator.renamed, separator.words)


class _CopySeparator:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._rows: list[list[DraftRow]] = [[row] for row in draft.rows]
        """The rows that replace each row."""
        self._at: dict[str, list[int]] = {}
        for at, row in enumerate(draft.rows):
            if row.entry is not None and row.entry.uuid and not row.entry.is_sidechain:
                self._at.setdefault(row.entry.uuid, []).append(at)
        self._naming = self._find_references()
        self.removed = self.renamed = 0

    @property
    def words(self) -> str:
        """A description of the changes, for the user."""
        words = [f"removed {self.removed:,} repeated"] if self.removed else []
        words += [f"gave {self.renamed:,} a uuid of their own"] if self.renamed else []
        return ", ".join(words)

    def build_draft(self) -> Draft:
        """Build the session with one row for each uuid."""
        return self._draft._replace(rows=tuple(row for rows in self._rows for row in rows))

    def separate_uuid(self, uuid: str) -> None:
        """Let one entry keep the uuid, and give the others new ones."""
        places: list[int] = []
        for at in self._at[uuid]:
            if any(self._get_body(at) == self._get_body(other) for other in places):
                self._rows[at] = []
                self.removed += 1
            else:
                places.append(at)
        if len(places) > 1:
            is_rewritten = len({self._get_kin(at) for at in places}) == 1
            self._put_last_first(places) if is_rewritten else self._rename_copies(uuid, places)

    def _get_body(self, at: int) -> dict[str, Any]:
        return self._draft.get_body(self._draft.rows[at])

    def _get_kin(self, at: int) -> tuple[str | None, str | None]:
        entry = self._draft.rows[at].entry
        return (entry.parent_uuid, entry.type) if entry else (None, None)

    def _put_last_first(self, places: list[int]) -> None:
        *earlier, last = (self._draft.rows[at] for at in places)
        beside = (
            []
            if last.entry and get_message_id(last.entry)
            else [_change_row(row, "uuid", create_uuid()) for row in earlier]
        )
        self.removed += len(earlier) - len(beside)
        self.renamed += len(beside)
        for at in places:
            self._rows[at] = []
        self._rows[places[0]] = [*beside, last]

    def _rename_copies(self, uuid: str, places: list[int]) -> None:
        ends = [*places[2:], len(self._rows)]
        for at, end in zip(places[1:], ends, strict=True):
            new = create_uuid()
            self._rows[at] = [_change_row(row, "uuid", new) for row in self._rows[at]]
            self.renamed += 1
            for place, key in self._naming.get(uuid, []):
                if at < place < end:
                    self._rows[place] = [_change_row(row, key, new) for row in self._rows[place]]

    def _find_references(self) -> dict[str, list[tuple[int, str]]]:
        """Find the rows and keys that refer to a uuid that occurs more than once."""
        wanted = {uuid for uuid, places in self._at.items() if len(places) > 1}
        references: dict[str, list[tuple[int, str]]] = {}
        for at, row in enumerate(self._draft.rows):
            if row.entry is None:
                continue
            if row.entry.parent_uuid in wanted:
                references.setdefault(row.entry.parent_uuid or "", []).append((at, "parentUuid"))
            body = self._draft.file.read_body(row.entry) if row.entry.type != "progress" else {}
            for key in LINK_KEYS[1:]:
                if isinstance(uuid := body.get(key), str) and uuid in wanted:
                    references.setdefault(uuid, []).append((at, key))
        return references


def _change_row(row: DraftRow, key: str, value: str) -> DraftRow:
    return row._replace(changed={**row.changed, key: value})


def drop_strangers(case: RepairCase) -> RepairAttempt:
    """Remove entries from another session; unless the user selected the illness, keep those that the client sends."""
    sent = [] if case.is_named else [entry for entry in case.entries if entry.index in case.view.members]
    removed = [entry for entry in case.entries if entry not in sent]
    if not removed:
        return RepairAttempt(case.draft, 0, _explain_sent_entries(len(sent)))
    words = f"removed entries of {_list_sessions(removed)}; the source has them"
    if sent:
        words += f"; {_explain_sent_entries(len(sent))}"
    places = {case.places[entry.index] for entry in removed}
    return RepairAttempt(case.draft.without_rows(places), len(places), words)


def _explain_sent_entries(number: int) -> str:
    return f"{number:,} stay because Claude Code sends them; `--only other-session` removes them"


def _list_sessions(entries: list[Entry]) -> str:
    sessions = sorted({entry.session_id or "" for entry in entries})
    return ", ".join(name[:36] for name in sessions[:3]) + (" …" if len(sessions) > 3 else "")


DUPLICATE_UUID = Illness(
    "duplicate-uuid",
    "Messages appear in the wrong order, twice, or not at all.",
    "a hook's or a tool's lines were written again under the same ids",
    separate_copies,
)
REPLAYED_HISTORY = Illness(
    "replayed-history",
    "The file grows by its whole history at each compaction, and is slow to resume.",
    "the client wrote earlier entries again at a compaction, with the same uuids (#92089, #66947)",
    separate_copies,
)
OTHER_SESSION = Illness(
    "other-session",
    "Clients up to 2.1.45 show another conversation in place of this one; newer ones only if this one continues it.",
    "another session's lines were written into this file (#26964, #30802)",
    drop_strangers,
)
TWO_WRITERS = Illness(
    "two-writers",
    "Every resume shows another half of the conversation.",
    "two clients had the session open at the same time (#39151, #80427)",
    alternative="both halves are real; `turnlog fork SESSION --at leaf:K` makes a session of each",
)
