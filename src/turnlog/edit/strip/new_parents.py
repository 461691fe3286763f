"""Chooses new parents for rows whose parent is removed, if the nearest ancestor would cause something to be lost.

The newest client restores parallel calls, and notes that were written while a tool was running, beside the chain: it
finds them by the message that they belong to. If some rows of that message are removed, the client must still find the
others. The parent of a row below a removed one is therefore

1. the last remaining call or result of the same message, if the row was below it;
2. otherwise, in the conversation that would be resumed, the row before it;
3. otherwise, its own nearest ancestor (`Draft.without_rows`).

The client places a row whose parent is not in the file after the row that was written just before it. If that row is
removed, the second rule applies here too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain
from typing import Any

from turnlog.edit.draft import Draft
from turnlog.entries.entry import Entry
from turnlog.session.graph import get_message_id, is_boundary


def rehang_rows(
    draft: Draft, removed: Collection[int], thread: Sequence[Entry], leaf: Entry | None
) -> dict[int, dict[str, Any]]:
    """Choose new parents, by position, for rows whose parent is removed; all other rows get their nearest ancestor.

    No row becomes a child of the leaf, because the client would then continue from that row.
    """
    return _RowRehanger(draft, removed, thread, leaf).list_changes() if removed else {}


class _RowRehanger:
    def __init__(self, draft: Draft, removed: Collection[int], thread: Sequence[Entry], leaf: Entry | None) -> None:
        self._draft, self._removed = draft, removed
        self._leaf = draft.map_entry_places().get(leaf.index, -1) if leaf else -1
        self._uuid = [draft.get_uuid(row) for row in draft.rows]
        self._place: dict[str, int] = {}
        for at, uuid in enumerate(self._uuid):
            if uuid is not None:
                self._place.setdefault(uuid, at)
        self._up = [self._place.get(draft.get_parent_uuid(row) or "", -1) for row in draft.rows]
        self._current_up = list(self._up)
        """The parents, including those changed so far."""
        self._is_in_order = all(above < at for at, above in enumerate(self._up))
        """Whether each parent is before its child, as clients write them, so that no walk upwards goes on in vain."""
        self._real_parents: dict[int, int] = {}
        self._kept_ancestors: dict[int, int] = {}
        self._tops: dict[int, int] = {}
        self._group = self._group_rows()
        self._members: dict[str, list[int]] = {}
        for at, group in enumerate(self._group):
            is_there = at not in removed and at != self._leaf and self._uuid[at] is not None
            if group is not None and is_there and _has_tools(draft.rows[at].entry):
                self._members.setdefault(group, []).append(at)
        self._members_by_top: dict[tuple[str, int], list[int]] = {}
        for group, members in self._members.items():
            for at in members:
                self._members_by_top.setdefault((group, self._find_top(at, group)), []).append(at)
        self._lost: set[int] = set()
        """Rows whose parent is not in the file and that the client would no longer find."""
        self._before = self._map_said_before(thread)

    def _group_rows(self) -> list[str | None]:
        """Return the message of each row: the one that the row is part of, or whose call it answers."""
        owner: dict[str, str] = {}
        heads = [row.entry for row in self._draft.rows]
        for entry in heads:
            if entry is not None and (identity := get_message_id(entry)) and entry.message:
                owner.update({block.id: identity for block in entry.message.blocks if block.id})
        return [_find_group(entry, owner) for entry in heads]

    def _map_said_before(self, thread: Sequence[Entry]) -> Mapping[int, int]:
        """Map each row of the resumed conversation to the remaining row before it, within the same compaction."""
        places = self._draft.map_entry_places()
        boundaries = [at for at, row in enumerate(self._draft.rows) if row.entry and is_boundary(row.entry)]
        before, last, previous = {}, -1, -1
        for entry in thread:
            at = places.get(entry.index, -1)
            if last >= 0 and last < at and not any(last < boundary < at for boundary in boundaries):
                before[at] = last
                if self._up[at] < 0 and previous in self._removed and self._draft.get_parent_uuid(self._draft.rows[at]):
                    self._lost.add(at)
            if at >= 0 and at not in self._removed and at != self._leaf and self._uuid[at] is not None:
                last = at
            previous = at
        return before

    def list_changes(self) -> dict[int, dict[str, Any]]:
        changes = {}
        for at in range(len(self._up)):
            if at in self._removed or (self._find_real_parent(at) not in self._removed and at not in self._lost):
                continue
            new = self._find_same_message(at)
            if new is None and self._can_follow(at):
                new = self._before[at]
            if new is not None:
                changes[at] = {"parentUuid": self._uuid[new]}
                self._current_up[at] = new
                self._is_in_order = self._is_in_order and new < at
        return changes

    def _can_follow(self, at: int) -> bool:
        """Return whether the preceding row has the same ancestor; two branches may contain copies of a message."""
        before = self._before.get(at)
        if before is None or self._is_below(before, at, self._current_up):
            return False
        above = self._follow(self._find_real_parent(at), self._removed.__contains__, self._kept_ancestors)
        return at in self._lost or above < 0 or self._is_below(before, above, self._up)

    def _find_real_parent(self, at: int) -> int:
        """Return the parent, skipping progress entries, as the client does."""
        return self._follow(self._up[at], self._is_kept_progress, self._real_parents)

    def _is_kept_progress(self, at: int) -> bool:
        entry = self._draft.rows[at].entry if at >= 0 else None
        return entry is not None and entry.type == "progress" and at not in self._removed

    def _follow(self, at: int, passes: Callable[[int], bool], known: dict[int, int]) -> int:
        """Go up from a row to the first one that a condition does not pass; remember where each of them leads."""
        seen: dict[int, None] = {}
        while at not in seen and passes(at):
            if at in known:
                at = known[at]
                break
            seen[at] = None
            at = self._up[at]
        if self._is_in_order:  # otherwise, the rows may be in a ring, which ends elsewhere for each of them
            known.update(dict.fromkeys(seen, at))
        return at

    def _find_same_message(self, at: int) -> int | None:
        above, seen = self._find_real_parent(at), set()
        while above in self._removed and above not in seen:
            seen.add(above)
            group = self._group[above]
            if group is not None and group != self._group[at]:
                top = self._find_top(above, group)
                if (member := self._find_nearest(self._members_by_top.get((group, top), []), at)) is not None:
                    return member
            above = self._up[above]
        return None

    def _find_nearest(self, members: Sequence[int], at: int) -> int | None:
        """Return the last of some rows that is before a row or, if there is none, the last one; never one below it."""
        place = bisect_left(members, at)
        places = chain(reversed(range(place)), reversed(range(place, len(members))))
        return next((members[n] for n in places if not self._is_below(members[n], at, self._current_up)), None)

    def _find_top(self, at: int, group: str) -> int:
        """Return the first ancestor that does not belong to the same message."""
        return self._follow(at, lambda above: above >= 0 and self._group[above] == group, self._tops)

    def _is_below(self, one: int, other: int, up: Sequence[int]) -> bool:
        seen = set()
        while one >= (other if self._is_in_order else 0) and one not in seen:
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
    owners = (owner.get(block.tool_use_id or "") for block in entry.message.blocks)
    return next((identity for identity in owners if identity), None)
