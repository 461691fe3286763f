"""Restores the rows outside the chain of a resumed session: parallel calls, their results, and notes.

A chain of parents passes through only one of several parallel results. The client restores the other rows of the same
messages, the results of their calls, and side branches that contain only notes (docs/format.md, rules 16 and 17).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from turnlog.entries.entry import Entry
from turnlog.session.graph import get_message_id
from turnlog.session.resume.rows import ResumeRows, RowKey


def add_side_rows(rows: ResumeRows, chain: list[Entry]) -> list[Entry]:
    """Return the chain together with all rows that belong to its messages."""
    row_chain = RowChain(rows, chain)
    for row in row_chain.find_missing_parts():
        row_chain.insert_row(row, row_chain.find_message_id(row))
    for row, identity in row_chain.find_notes():
        row_chain.insert_row(row, identity)
    return row_chain.list_rows()


class RowChain:
    """A chain as a linked list, with its rows grouped by the message that they belong to or answer."""

    def __init__(self, rows: ResumeRows, chain: list[Entry]) -> None:
        self._all = rows
        self._first = chain[0] if chain else None
        self._next: dict[RowKey, Entry | None] = {
            row.uuid: after for row, after in zip(chain, [*chain[1:], None], strict=False)
        }
        self._message_of_call = self._map_calls({get_message_id(row) for row in chain} - {None})
        self._groups: dict[str, list[Entry]] = {}
        for row in chain:
            if identity := self.find_message_id(row):
                self._groups.setdefault(identity, []).append(row)
        self._latest = {name: self._list_latest_places(group) for name, group in self._groups.items()}
        """For each row of a group but the first, the last place in the file of the rows up to it."""

    def _map_calls(self, ids: set[str | None]) -> dict[str, str]:
        found = {}
        for row in self._all.rows.values():
            identity = get_message_id(row)
            if identity in ids and identity and row.message:
                found.update({b.id: identity for b in row.message.blocks if b.type == "tool_use" and b.id})
        return found

    def find_message_id(self, row: Entry) -> str | None:
        """Return the id of the message that a row belongs to, or whose call it answers."""
        if row.type != "user" or not row.message:
            return get_message_id(row)
        found = (self._message_of_call.get(b.tool_use_id or "") for b in row.message.blocks)
        return next((identity for identity in found if identity), None)

    def list_rows(self) -> list[Entry]:
        """List all rows in order."""
        rows, row = [], self._first
        while row is not None:
            rows.append(row)
            row = self._next[row.uuid]
        return rows

    def find_missing_parts(self) -> list[Entry]:
        """List rows of the chain's messages, and results of their calls, that are not in the chain [16]."""
        rest = (row for key, row in self._all.rows.items() if key in self._all.up and key not in self._next)
        return [row for row in rest if self.find_message_id(row) in self._groups]

    def insert_row(self, row: Entry, identity: str | None) -> None:
        """Insert a row after the last row in its group that is earlier in the file or, if none is, after the first."""
        group, latest, place = self._groups[identity or ""], self._latest[identity or ""], self._all.place[row.uuid]
        earlier = bisect_left(latest, place)
        before = group[earlier]
        group.insert(earlier + 1, row)
        latest.insert(earlier, place)
        self._next[row.uuid], self._next[before.uuid] = self._next[before.uuid], row

    def _list_latest_places(self, group: list[Entry]) -> list[int]:
        return list(accumulate((self._all.place[row.uuid] for row in group[1:]), max))

    def find_notes(self) -> list[tuple[Entry, str]]:
        """List side branches that contain only notes and follow a call or result, with the message of each [17]."""
        found = []
        for row, identity in self._list_anchors():
            for key in self._all.children.get(row.uuid, []):
                if key not in self._next:
                    branch = [self._all.rows[below] for below in self._all.find_descendants([key])]
                    if all(map(_is_note, branch)):
                        found += [(note, identity) for note in branch if note.uuid not in self._next]
        return sorted(found, key=lambda pair: self._all.place[pair[0].uuid])

    def _list_anchors(self) -> Iterator[tuple[Entry, str]]:
        """Yield calls and results, and the system and attachment rows that follow them."""
        identity: str | None = None
        for row in self.list_rows():
            if row.type in ("user", "assistant"):
                identity = self.find_message_id(row) if _has_tools(row) else None
            if identity in self._groups:
                yield row, identity


def _has_tools(row: Entry) -> bool:
    return row.message is not None and any(b.type in ("tool_use", "tool_result") for b in row.message.blocks)


def _is_note(row: Entry) -> bool:
    return row.type in ("system", "attachment") or (row.type == "user" and bool(row.is_meta))
