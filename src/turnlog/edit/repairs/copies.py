"""Repair of uuids that are written more than once.

the same entry again            one stays
an entry written anew           the last one stays, as the newest client shows it, in the place of the first; an
                                earlier text that differs stays beside it, as a branch
two entries that share a uuid   the later one gets a new uuid; what is written behind it and names the uuid means it
"""

from __future__ import annotations

from typing import Any

from turnlog.edit.draft import LINK_KEYS, Draft, DraftRow
from turnlog.edit.id_renewal import create_uuid
from turnlog.edit.repairs.case import RepairAttempt, RepairCase
from turnlog.session.graph import get_message_id


def separate_copies(case: RepairCase) -> RepairAttempt:
    """Give every entry a uuid of its own."""
    found = _CopySeparator(case.draft)
    for uuid in dict.fromkeys(entry.uuid for entry in case.entries if entry.uuid):
        found.separate_uuid(uuid)
    return RepairAttempt(found.build_draft(), found.gone + found.renamed, found.words)


class _CopySeparator:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._rows: list[list[DraftRow]] = [[row] for row in draft.rows]
        """The rows that come to stand in the place of each."""
        self._at: dict[str, list[int]] = {}
        for at, row in enumerate(draft.rows):
            if row.entry is not None and row.entry.uuid and not row.entry.is_sidechain:
                self._at.setdefault(row.entry.uuid, []).append(at)
        self._naming = self._find_references()
        self.gone = self.renamed = 0

    @property
    def words(self) -> str:
        """What was done."""
        told = [f"{self.gone:,} written again went"] if self.gone else []
        told += [f"{self.renamed:,} got a uuid of their own"] if self.renamed else []
        return ", ".join(told)

    def build_draft(self) -> Draft:
        """The session with one row for each uuid."""
        return self._draft._replace(rows=tuple(row for rows in self._rows for row in rows))

    def separate_uuid(self, uuid: str) -> None:
        """See to one uuid."""
        places: list[int] = []
        for at in self._at[uuid]:
            if any(self._get_body(at) == self._get_body(other) for other in places):
                self._rows[at] = []
                self.gone += 1
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
        self.gone += len(earlier) - len(beside)
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
        """Who names the uuids that are written more than once."""
        wanted = {uuid for uuid, places in self._at.items() if len(places) > 1}
        found: dict[str, list[tuple[int, str]]] = {}
        for at, row in enumerate(self._draft.rows):
            if row.entry is None:
                continue
            if row.entry.parent_uuid in wanted:
                found.setdefault(row.entry.parent_uuid or "", []).append((at, "parentUuid"))
            body = self._draft.file.read_body(row.entry) if row.entry.type != "progress" else {}
            for key in LINK_KEYS[1:]:
                if isinstance(uuid := body.get(key), str) and uuid in wanted:
                    found.setdefault(uuid, []).append((at, key))
        return found


def _change_row(row: DraftRow, key: str, value: str) -> DraftRow:
    return row._replace(changed={**row.changed, key: value})
