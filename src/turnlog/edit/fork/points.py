"""Points of a session that it can be gone on from: a turn, an entry, the end of a branch, or just before a compaction.

A point names the last thing that is kept. A turn ends with the last entry of its work; a compaction that was asked for
behind it is no part of that work.
"""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple

from turnlog.entries.entry import Entry
from turnlog.errors import UsageError
from turnlog.session.resume.rows import GRAPH_TYPES, is_boundary
from turnlog.session.session import Session
from turnlog.session.turns import Turn

_NUMBERED = re.compile(r"(compaction|leaf):(-?\d{1,6}|last)")
_TURN = re.compile(r"\d{1,6}")
_WORDS = "give the number of a turn, the uuid of an entry, compaction:K or leaf:K"
_NEAR = 3


class Point(NamedTuple):
    """Where a new session goes on."""

    leaf: str
    """The uuid of the last entry that is kept."""
    words: str
    """What it is, for people."""


def point(session: Session, wanted: str) -> Point:
    """The point that a word means."""
    text = wanted.strip()
    if numbered := _NUMBERED.fullmatch(text):
        return (_before_compaction if numbered[1] == "compaction" else _end_of_branch)(session, numbered[2])
    if _TURN.fullmatch(text):
        return _end_of_turn(session, int(text))
    if ":" in text or not text:
        raise UsageError(f"--at {wanted}: {_WORDS}")
    return _entry(session, text)


def _end_of_turn(session: Session, number: int) -> Point:
    if not 1 <= number <= len(session.turns):
        raise UsageError(f"--at {number}: {_range('turn', len(session.turns))}")
    return Point(_uuid(last_of(session, session.turns[number - 1])), f"behind turn {number}")


def last_of(session: Session, turn: Turn) -> Entry:
    """The last entry of a turn's work, before a compaction behind which the turn did not go on."""
    last, seen = turn.last, set()
    while last.index not in seen:
        seen.add(last.index)
        above = list(session.graph.upwards(last.uuid or ""))
        boundary = next((row for row in above if is_boundary(row)), None)
        if boundary is None or session.turn_of(boundary) is not turn:
            break
        if any(row.type == "assistant" for row in above[: above.index(boundary)]):
            break
        last = session.graph.before(boundary) or last
    return last


def _before_compaction(session: Session, number: str) -> Point:
    found = session.compactions
    at = _place(number, len(found), "compaction")
    before = session.graph.before(found[at].boundary)
    if before is None:
        raise UsageError(f"--at compaction:{number}: nothing is left of what was before it")
    return Point(_uuid(before), f"just before compaction {at + 1} of {len(found)}")


def _end_of_branch(session: Session, number: str) -> Point:
    leaves = session.graph.leaves
    at = _place(number, len(leaves), "leaf")
    return Point(_uuid(leaves[at]), f"at the end of branch {at + 1} of {len(leaves)}")


def _place(number: str, count: int, kind: str) -> int:
    """The place that a number means; -1 is the last one."""
    at = count if number == "last" else int(number) + (count + 1 if number.startswith("-") else 0)
    if not 1 <= at <= count:
        raise UsageError(f"--at {kind}:{number}: {_range(kind, count)}")
    return at - 1


def _range(kind: str, count: int) -> str:
    several = {"turn": "turns", "leaf": "branches", "compaction": "compactions"}[kind]
    if not count:
        return f"this session has no {several}"
    return f"the {several} of this session are 1 to {count}" if count > 1 else f"this session has one {kind}, number 1"


def _entry(session: Session, start: str) -> Point:
    """An entry by its uuid or the start of it."""
    rows = {row.uuid: row for row in session.graph.rows if row.uuid and row.type in GRAPH_TYPES and not row.lost}
    found = [rows[start]] if start in rows else [row for uuid, row in rows.items() if uuid.startswith(start.lower())]
    if len(found) > 1:
        raise UsageError(f"--at {start}: {len(found)} entries begin so; give more of it")
    if not found:
        raise UsageError(f"--at {start}: no entry of this session begins so{_closest(start, list(rows))}; {_WORDS}")
    if is_boundary(found[0]):
        number = session.graph.compactions.index(found[0]) + 1
        raise UsageError(f"--at {start}: is a compaction; compaction:{number} goes on just before it")
    if found[0].type == "progress":
        raise UsageError(f"--at {start}: is a report of progress, which no conversation can end with")
    return Point(_uuid(found[0]), f"behind the {found[0].name} entry {found[0].uuid}")


def _closest(start: str, uuids: list[str]) -> str:
    near = difflib.get_close_matches(start.lower(), [uuid[: len(start)] for uuid in uuids], _NEAR, 0.5)
    names = list(dict.fromkeys(uuid for part in near for uuid in uuids if uuid.startswith(part)))[:_NEAR]
    return f"; the closest are {', '.join(names)}" if names else ""


def _uuid(row: Entry) -> str:
    if row.uuid is None:
        raise UsageError("--at: the entry that it ends with has no uuid, so nothing can go on from there")
    return row.uuid
