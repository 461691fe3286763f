"""Where rows go when the row they hang on is removed, and going to its own ancestor would lose something.

The newest client puts parallel calls, and notes that were written while a tool ran, back beside the chain: it finds
them by the message that they belong to. With some rows of that message gone, what stays must be found from what is
left. So a row below a removed one goes

1. to the last call or result that stays of the same message, when it was below that;
2. else, in the conversation that would be resumed, to the row that is said before it there;
3. else to its own nearest ancestor (`Draft.without`).

A row whose parent is not in the file is put behind the row that was written just before it by the client. When that
one goes, the second rule holds for it too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from turnlog.edit.draft import Draft
from turnlog.entries.entry import Entry
from turnlog.session.graph import get_message_id, is_boundary


def rehang_rows(
    draft: Draft, gone: Collection[int], thread: Sequence[Entry], leaf: Entry | None
) -> dict[int, dict[str, Any]]:
    """New parents for rows whose parent goes, by their place; for all others the ancestor is right.

    Nothing is hung on the leaf: the client would go on from there.
    """
    return _RowRehanger(draft, gone, thread, leaf).list_changes() if gone else {}


class _RowRehanger:
    def __init__(self, draft: Draft, gone: Collection[int], thread: Sequence[Entry], leaf: Entry | None) -> None:
        self._draft, self._gone = draft, gone
        self._leaf = draft.map_entry_places().get(leaf.index, -1) if leaf else -1
        self._uuid = [draft.get_uuid(row) for row in draft.rows]
        self._place: dict[str, int] = {}
        for at, uuid in enumerate(self._uuid):
            if uuid is not None:
                self._place.setdefault(uuid, at)
        self._up = [self._place.get(draft.get_parent_uuid(row) or "", -1) for row in draft.rows]
        self._now = list(self._up)
        """The parents with what was hung anew so far."""
        self._group = self._group_rows()
        self._members: dict[str, list[int]] = {}
        for at, group in enumerate(self._group):
            is_there = at not in gone and at != self._leaf and self._uuid[at] is not None
            if group is not None and is_there and _has_tools(draft.rows[at].entry):
                self._members.setdefault(group, []).append(at)
        self._lost: set[int] = set()
        """Rows whose parent is not in the file, and that would be found no more."""
        self._before = self._map_said_before(thread)

    def _group_rows(self) -> list[str | None]:
        """For each row the message that it is part of, or whose call it answers."""
        owner: dict[str, str] = {}
        heads = [row.entry for row in self._draft.rows]
        for entry in heads:
            if entry is not None and (identity := get_message_id(entry)) and entry.message:
                owner.update({block.id: identity for block in entry.message.blocks if block.id})
        return [_find_group(entry, owner) for entry in heads]

    def _map_said_before(self, thread: Sequence[Entry]) -> Mapping[int, int]:
        """For each row of the resumed conversation the one that stays before it, within the same compaction."""
        places = self._draft.map_entry_places()
        boundaries = [at for at, row in enumerate(self._draft.rows) if row.entry and is_boundary(row.entry)]
        found, last, previous = {}, -1, -1
        for entry in thread:
            at = places.get(entry.index, -1)
            if last >= 0 and last < at and not any(last < boundary < at for boundary in boundaries):
                found[at] = last
                if self._up[at] < 0 and previous in self._gone and self._draft.get_parent_uuid(self._draft.rows[at]):
                    self._lost.add(at)
            if at >= 0 and at not in self._gone and at != self._leaf and self._uuid[at] is not None:
                last = at
            previous = at
        return found

    def list_changes(self) -> dict[int, dict[str, Any]]:
        found = {}
        for at in range(len(self._up)):
            if at in self._gone or (self._find_real_parent(at) not in self._gone and at not in self._lost):
                continue
            new = self._find_same_message(at)
            if new is None and self._goes_behind(at):
                new = self._before[at]
            if new is not None:
                found[at] = {"parentUuid": self._uuid[new]}
                self._now[at] = new
        return found

    def _goes_behind(self, at: int) -> bool:
        """Whether what is said before a row is below the same ancestor: messages may be copies in two branches."""
        before = self._before.get(at)
        if before is None or _is_below(before, at, self._now):
            return False
        above, seen = self._find_real_parent(at), set()
        while above in self._gone and above not in seen:
            seen.add(above)
            above = self._up[above]
        return at in self._lost or above < 0 or _is_below(before, above, self._up)

    def _find_real_parent(self, at: int) -> int:
        """The parent, looking through reports of progress, as the client does."""
        above, seen = self._up[at], set()
        while above >= 0 and above not in self._gone and above not in seen and self._is_progress(above):
            seen.add(above)
            above = self._up[above]
        return above

    def _is_progress(self, at: int) -> bool:
        entry = self._draft.rows[at].entry
        return entry is not None and entry.type == "progress"

    def _find_same_message(self, at: int) -> int | None:
        above, seen = self._find_real_parent(at), set()
        while above in self._gone and above not in seen:
            seen.add(above)
            group = self._group[above]
            if group is not None and group != self._group[at]:
                top = self._find_top(above, group)
                fitting = [
                    one
                    for one in self._members.get(group, ())
                    if self._find_top(one, group) == top and not _is_below(one, at, self._now)
                ]
                if fitting:
                    return max(fitting, key=lambda one: (one < at, one))
            above = self._up[above]
        return None

    def _find_top(self, at: int, group: str) -> int:
        """The first row above one that does not belong to the same message."""
        seen = set()
        while at >= 0 and self._group[at] == group and at not in seen:
            seen.add(at)
            at = self._up[at]
        return at


def _is_below(one: int, other: int, up: Sequence[int]) -> bool:
    seen = set()
    while one >= 0 and one not in seen:
        if one == other:
            return True
        seen.add(one)
        one = up[one]
    return False


def _has_tools(entry: Entry | None) -> bool:
    blocks = entry.message.blocks if entry and entry.message else []
    return any(block.type in ("tool_use", "tool_result") for block in blocks)


def _find_group(entry: Entry | None, owner: Mapping[str, str]) -> str | None:
    if entry is None or entry.message is None:
        return None
    if entry.type != "user":
        return get_message_id(entry)
    found = (owner.get(block.tool_use_id or "") for block in entry.message.blocks)
    return next((identity for identity in found if identity), None)
