"""Points in a session to continue from: a turn, an entry, the end of a branch, or just before a compaction.

A point is identified by the last entry to keep. A turn ends with the last entry of its work; a compaction requested
afterwards is not part of it.
"""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple

from turnlog.entries.entry import Entry
from turnlog.errors import UsageError
from turnlog.session.graph import GRAPH_TYPES, is_boundary
from turnlog.session.session import Session
from turnlog.session.turns import Turn

_NUMBERED_POINT_PATTERN = re.compile(r"(compaction|leaf):(-?\d{1,6}|last)")
_TURN_PATTERN = re.compile(r"\d{1,6}")
_POINT_FORMS = "use the number of a turn, the uuid of an entry, compaction:K or leaf:K"
_MAX_CLOSE_MATCHES = 3


class ForkPoint(NamedTuple):
    """The point where a new session continues."""

    leaf: str
    """The uuid of the last entry to keep."""
    words: str
    """A description for messages, such as `after turn 3`."""


def parse_fork_point(session: Session, point: str) -> ForkPoint:
    """Find the point that the user specified."""
    text = point.strip()
    if numbered := _NUMBERED_POINT_PATTERN.fullmatch(text):
        return (_find_before_compaction if numbered[1] == "compaction" else _find_end_of_branch)(session, numbered[2])
    if _TURN_PATTERN.fullmatch(text):
        return _find_end_of_turn(session, int(text))
    if ":" in text or not text:
        raise UsageError(f"--at {point}: {_POINT_FORMS}")
    return _find_entry(session, text)


def _find_end_of_turn(session: Session, number: int) -> ForkPoint:
    if not 1 <= number <= len(session.turns):
        raise UsageError(f"--at {number}: {_describe_range('turn', len(session.turns))}")
    last = _step_back(session, find_last_entry_of_turn(session, session.turns[number - 1]))
    return ForkPoint(_require_uuid(last), f"after turn {number}")


def find_last_entry_of_turn(session: Session, turn: Turn) -> Entry:
    """Find the last entry of a turn's work, excluding a compaction after which the turn did not continue."""
    last, seen = turn.last, set()
    while last.index not in seen:
        seen.add(last.index)
        above = list(session.graph.walk_up(last.uuid or ""))
        boundary = next((row for row in above if is_boundary(row)), None)
        if boundary is None or session.find_turn(boundary) is not turn:
            break
        if any(row.type == "assistant" for row in above[: above.index(boundary)]):
            break
        last = session.graph.find_continued_row(boundary) or last
    return last


def _find_before_compaction(session: Session, number: str) -> ForkPoint:
    compactions = session.compactions
    at = _resolve_number(number, len(compactions), "compaction")
    named = session.graph.find_continued_row(compactions[at].boundary)
    before = None if named is None else _step_back(session, named)
    if before is None:
        raise UsageError(f"--at compaction:{number}: the entries before this compaction are not in the file")
    return ForkPoint(_require_uuid(before), f"just before compaction {at + 1} of {len(compactions)}")


def _find_end_of_branch(session: Session, number: str) -> ForkPoint:
    leaves = session.graph.leaves
    at = _resolve_number(number, len(leaves), "leaf")
    return ForkPoint(_require_uuid(_step_back(session, leaves[at])), f"at the end of branch {at + 1} of {len(leaves)}")


def _step_back(session: Session, row: Entry) -> Entry:
    """Return the last entry at or before a row that a conversation can end with, which a progress report is not.

    The parents of a hook's progress reports may never have been written; then the order of the file counts.
    """
    above = next((entry for entry in session.graph.walk_up(row.uuid or "") if _can_end_conversation(entry)), None)
    if above is not None or _can_end_conversation(row):
        return above or row
    earlier = (entry for entry in reversed(session.graph.rows) if entry.index < row.index)
    return next((entry for entry in earlier if _can_end_conversation(entry) and not entry.is_sidechain), row)


def _can_end_conversation(entry: Entry) -> bool:
    return entry.type in GRAPH_TYPES and entry.type != "progress" and not entry.is_lost


def _resolve_number(number: str, count: int, kind: str) -> int:
    """Return the position that a number refers to; -1 is the last one."""
    at = count if number == "last" else int(number) + (count + 1 if number.startswith("-") else 0)
    if not 1 <= at <= count:
        raise UsageError(f"--at {kind}:{number}: {_describe_range(kind, count)}")
    return at - 1


def _describe_range(kind: str, count: int) -> str:
    several = {"turn": "turns", "leaf": "branches", "compaction": "compactions"}[kind]
    if not count:
        return f"this session has no {several}"
    return f"this session has {several} 1 to {count}" if count > 1 else f"this session has only {kind} 1"


def _find_entry(session: Session, start: str) -> ForkPoint:
    """Find an entry by its uuid or the start of its uuid."""
    rows = {row.uuid: row for row in session.graph.rows if row.uuid and row.type in GRAPH_TYPES and not row.is_lost}
    matches = [rows[start]] if start in rows else [row for uuid, row in rows.items() if uuid.startswith(start.lower())]
    if len(matches) > 1:
        raise UsageError(f"--at {start}: {len(matches)} entries have a uuid with this prefix; use more of the uuid")
    if not matches:
        raise UsageError(
            f"--at {start}: no entry in this session has a uuid with this prefix"
            f"{_describe_closest(start, list(rows))}; {_POINT_FORMS}"
        )
    if is_boundary(matches[0]):
        number = session.graph.compactions.index(matches[0]) + 1
        raise UsageError(f"--at {start}: this entry is a compaction; to fork just before it, use compaction:{number}")
    if not _can_end_conversation(matches[0]):
        raise UsageError(f"--at {start}: a conversation can't end with a progress entry")
    return ForkPoint(_require_uuid(matches[0]), f"after the {matches[0].name} entry {matches[0].uuid}")


def _describe_closest(start: str, uuids: list[str]) -> str:
    near = difflib.get_close_matches(start.lower(), [uuid[: len(start)] for uuid in uuids], _MAX_CLOSE_MATCHES, 0.5)
    names = list(dict.fromkeys(uuid for part in near for uuid in uuids if uuid.startswith(part)))[:_MAX_CLOSE_MATCHES]
    return f"; closest matches: {', '.join(names)}" if names else ""


def _require_uuid(row: Entry) -> str:
    if row.uuid is None:
        raise UsageError("--at: the last entry at this point has no uuid, so a session can't continue from it")
    return row.uuid
