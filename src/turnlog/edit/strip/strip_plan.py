"""Decides what happens to each block in a file, in all branches, when it is stripped.

The fate of blocks in the conversation that would be resumed is the same as in `turnlog context`. In other branches and
before compactions, the age of each block is its age in its own branch, counted across compactions. A block that is
shared by several branches gets the mildest of their fates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from turnlog.edit.strip.content_cut import PICTURE_TYPES
from turnlog.edit.strip.fates import (
    FATE_GONE,
    FATE_SHORTENED,
    WHOLE_FATE,
    Fate,
    decide_fates,
    find_calls_without_copy,
)
from turnlog.edit.strip.strip_options import StripOptions
from turnlog.entries.entry import Body, Entry
from turnlog.entries.line_decoder import decode_body
from turnlog.errors import Refused
from turnlog.session.graph import GRAPH_TYPES, get_message_id, holds_result, is_boundary
from turnlog.session.session import Session
from turnlog.session.window.pieces import ContextPiece, list_pieces_of_rows

_PICTURE_MARKS = (*(b'"%s"' % kind.encode() for kind in sorted(PICTURE_TYPES)), b"\\u00")
"""A line with a picture contains one of these: the name of its type, or an escape that may stand for a letter of it."""
THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})

_FatesByKey = dict[tuple[str, str | int], Fate]
"""Fates by group and the id of the call, or the index of the row."""


class StripPlan(NamedTuple):
    calls: dict[str, Fate]
    """Fates by the id of the call."""
    results: dict[str, Fate]
    copies: dict[str, Fate]
    """Fates of the client's own copies of results, by the id of the call."""
    thinking: dict[int, Fate]
    """Fates by the index of the row."""
    pictures: set[tuple[int, int]]
    """Images to remove because newer ones are enough: the index of the row, and the position among its images."""
    thread: list[Entry]
    """The entries that would be resumed, in order; empty if nothing would be."""
    leaf: Entry | None
    """The entry where the session continues; this row is always kept."""


def plan_strip(session: Session, options: StripOptions, leaf: str | None = None) -> StripPlan:
    leaf_entry, thread = _find_resumed_thread(session, leaf)
    lines = _ConversationLines(session)
    fates: _FatesByKey = {}
    for line in lines.iterate_lines(leaf_entry, thread):
        _merge_fates(fates, _judge_line(line, options))
    _pair_fates(fates, lines.flawed, _list_call_ids(leaf_entry) | _list_call_ids(_find_only_user(session)))
    return StripPlan(
        {str(key): fate for (group, key), fate in fates.items() if group == "calls"},
        {str(key): fate for (group, key), fate in fates.items() if group == "results"},
        {str(key): fate for (group, key), fate in fates.items() if group == "copies"},
        {int(key): fate for (group, key), fate in fates.items() if group == "thinking"},
        _find_old_pictures(session, thread, options.images),
        thread,
        leaf_entry,
    )


def _find_resumed_thread(session: Session, leaf: str | None) -> tuple[Entry | None, list[Entry]]:
    try:
        return session.build_thread(leaf)
    except Refused:
        return None, []


def _judge_line(line: list[ContextPiece], options: StripOptions) -> _FatesByKey:
    fates: _FatesByKey = {}
    without_copy = find_calls_without_copy(line, options)
    for piece, fate in zip(line, decide_fates(line, options), strict=True):
        if piece.group in ("calls", "results"):
            _set_milder(fates, (piece.group, piece.call), fate)
            _set_milder(
                fates,
                ("copies", piece.call),
                Fate(FATE_GONE, 0, "copies") if piece.call in without_copy else WHOLE_FATE,
            )
        elif piece.group == "thinking":
            _set_milder(fates, (piece.group, piece.row.index), fate)
    return fates


def _set_milder(fates: _FatesByKey, key: tuple[str, str | int], fate: Fate) -> None:
    fates[key] = min(fates.get(key, fate), fate, key=lambda one: one.hardness)


def _merge_fates(fates: _FatesByKey, more: _FatesByKey) -> None:
    for key, fate in more.items():
        _set_milder(fates, key, fate)


def _find_only_user(session: Session) -> Entry | None:
    """Find the last result if all user entries are results; without it, no user entry would be left."""
    users = [row for row in session.entries if row.type == "user"]
    return users[-1] if users and all(map(holds_result, users)) else None


def _list_call_ids(row: Entry | None) -> set[str]:
    """List the calls that a row contains or answers."""
    blocks = row.message.blocks if row and row.message else []
    return {identity for block in blocks for identity in (block.id, block.tool_use_id) if identity}


def _pair_fates(fates: _FatesByKey, flawed: set[str], protected: set[str]) -> None:
    """Keep each call unless its result is removed too, and don't change rows that can't be rewritten."""
    ids = {key for group, key in fates if group in ("calls", "results")}
    for key in ids:
        both = [(group, key) for group in ("calls", "results") if (group, key) in fates]
        is_removed = (
            all(fates[fate_key].degree == FATE_GONE for fate_key in both) and len(both) == 2 and key not in protected
        )
        for fate_key in both:
            if key in flawed:
                fates[fate_key] = fates["copies", key] = WHOLE_FATE
            elif fates[fate_key].degree == FATE_GONE and not is_removed:
                fates[fate_key] = Fate(FATE_SHORTENED, 0, "tools")


class _ConversationLines:
    """The conversations in a file, each as a list of its pieces in file order."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pieces: dict[int, list[ContextPiece]] = {}
        rows = [row for row in session.entries if row.type in GRAPH_TYPES]
        for piece in (*_find_unsent_thinking(session), *list_pieces_of_rows(session, rows)):
            self._pieces.setdefault(piece.row.index, []).append(piece)
        self.flawed = {p.call for row in self._pieces.values() for p in row if p.row.flaw and p.call}
        """Calls with a part in a row that could not be decoded normally."""
        self._of_message: dict[str, set[int]] = {}
        owner: dict[str, str] = {}
        for row in session.entries:
            if identity := get_message_id(row):
                self._of_message.setdefault(identity, set()).add(row.index)
                owner.update({b.id: identity for b in row.message.blocks if b.id} if row.message else {})
        for row in session.entries:
            for block in row.message.blocks if row.type == "user" and row.message else ():
                if identity := owner.get(block.tool_use_id or ""):
                    self._of_message[identity].add(row.index)

    def iterate_lines(self, end: Entry | None, thread: list[Entry]) -> Iterator[list[ContextPiece]]:
        """Yield what would be resumed and everything before it, then what each other branch adds, then the rest."""
        covered: set[int] = set()
        ends = [row.index for row in (*([end] if end else ()), *reversed(thread))]
        others = [[row.index] for row in self._session.graph.leaves]
        seen: set[int] = set()
        for at, starts in enumerate([ends, *others]):
            line = self._add_parallel_rows(self._collect_upwards(starts, covered)) - covered
            if at == 0:
                covered = line
            if line:
                seen |= line
                yield self._collect_pieces(line)
        if rest := self._pieces.keys() - seen:
            yield self._collect_pieces(rest)

    def _collect_upwards(self, starts: Iterable[int], covered: set[int]) -> set[int]:
        indexes: set[int] = set()
        for start in starts:
            at = start
            while at >= 0 and at not in indexes and at not in covered:
                indexes.add(at)
                row = self._session.file.entries[at]
                before = self._session.graph.find_continued_row(row) if is_boundary(row) and row.parent < 0 else None
                at = before.index if before else row.parent
        return indexes

    def _add_parallel_rows(self, rows: set[int]) -> set[int]:
        """Return the rows, together with the parallel calls and results of their messages."""
        entries = self._session.file.entries
        messages = {identity for index in rows if (identity := get_message_id(entries[index]))}
        return rows.union(*(self._of_message.get(identity, ()) for identity in messages))

    def _collect_pieces(self, rows: Iterable[int]) -> list[ContextPiece]:
        return [piece for index in sorted(rows) for piece in self._pieces.get(index, ())]


def _find_unsent_thinking(session: Session) -> Iterator[ContextPiece]:
    """Yield thinking by other models, which is in the file but not sent and therefore not among the pieces."""
    for row in session.entries:
        if (
            row.type == "assistant"
            and row.message
            and any(block.type in THINKING_TYPES for block in row.message.blocks)
        ):
            turn = session.find_turn(row)
            yield ContextPiece(row, -1, turn.number if turn else 0, "thinking")


# -- images


def iterate_pictures(blocks: Any) -> Iterator[Body]:
    """Yield the images in blocks and in the results among them, in order."""
    for block in blocks if isinstance(blocks, list) else ():
        if not isinstance(block, dict):
            continue
        if block.get("type") in PICTURE_TYPES:
            yield block
        elif block.get("type") == "tool_result":
            inner = block.get("content")
            yield from (
                item
                for item in (inner if isinstance(inner, list) else ())
                if isinstance(item, dict) and item.get("type") in PICTURE_TYPES
            )


def _find_old_pictures(session: Session, thread: list[Entry], newest: int | None) -> set[tuple[int, int]]:
    """Find all images except the newest ones; images in the resumed conversation count as newer than all others."""
    if newest is None:
        return set()
    inside = {row.index for row in thread}
    rows = [*reversed(thread), *(row for row in reversed(session.entries) if row.index not in inside)]
    newest_first = [
        (row.index, at) for row in rows if row.flaw is None for at in reversed(range(_count_pictures(session, row)))
    ]
    return set(newest_first[newest:])


def _count_pictures(session: Session, row: Entry) -> int:
    if row.type != "user" or row.message is None or isinstance(row.message.content, str):
        return 0
    if not any(block.type in (*PICTURE_TYPES, "tool_result") for block in row.message.blocks):
        return 0
    raw = session.file.read_raw(row)
    if not any(mark in raw for mark in _PICTURE_MARKS):
        return 0
    message = decode_body(raw).get("message")
    return sum(1 for _ in iterate_pictures(message.get("content") if isinstance(message, dict) else None))
