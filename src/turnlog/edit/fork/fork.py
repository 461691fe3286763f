"""Continues from any point in a session: keeps what leads to it, and removes other branches and what comes after it.

All ancestors of the point are kept, including those before earlier compactions, so that the fork can be forked again at
any of its own points. Compactions that come later or are on other branches are removed with their summaries, so the
client resumes what those compactions had replaced. Besides the ancestors, two kinds of rows are kept: those that the
client restores beside the chain (parallel calls, their results, and notes), and those without a message that belong to
kept rows (attachments, progress, and file snapshots).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from turnlog.edit.closing_entries import build_leaf_entry, find_last_prompt
from turnlog.edit.draft import Draft
from turnlog.edit.fork.fork_points import ForkPoint
from turnlog.edit.illnesses.verdict import judge_session
from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.errors import Refused, UsageError
from turnlog.session.clock import parse_timestamp, to_iso_time
from turnlog.session.graph import GRAPH_TYPES, is_boundary
from turnlog.session.resume.row_chain import add_side_rows
from turnlog.session.resume.rows import ResumeRows, RowKey
from turnlog.session.session import Session

LAST_WINS_TYPES = frozenset(
    "custom-title ai-title agent-name agent-color agent-setting tag mode permission-mode cost-state atis-latch"
    " worktree-state pr-link".split()
)
"""Metadata types of which only the last entry counts."""
_SPEAKING_KINDS = ("queued_command", "local_command")
_FILE_HISTORY_TYPES = ("file-history-snapshot", "file-history-delta")


class UncompactedRows(ResumeRows):
    """The rows of a file as if no compaction had dropped any, and the chain of ancestors through them."""

    def _apply_compaction(self) -> None:
        """Keep all rows, unlike the base class."""

    def iterate_segments(self, leaf: str) -> Iterator[list[Entry]]:
        """Yield the chains that lead to a row, one per compaction, latest first; each includes its boundary."""
        seen: set[RowKey] = set()
        key: RowKey = leaf
        while key is not None and key not in seen:
            chain: list[Entry] = []
            for above in self._walk_up(key):
                if above in seen:
                    break
                seen.add(above)
                chain.append(self.rows[above])
                if is_boundary(chain[-1]):
                    break
            if not chain:
                return
            yield chain[::-1]
            key = self._find_continued_key(chain[-1]) if is_boundary(chain[-1]) else None

    def _find_continued_key(self, boundary: Entry) -> RowKey:
        """Find the row that a compaction continues: the row it names or, if that is missing, the row just before it."""
        named = self.file.read_body(boundary).get("logicalParentUuid")
        if isinstance(named, str) and named in self.up:
            return named
        earlier = [key for key in self.up if self.place[key] < self.place[boundary.uuid]]
        return earlier[-1] if earlier else None


def fork_session(session: Session, draft: Draft, point: ForkPoint) -> Draft:
    """Return a draft that ends at the given point."""
    line = UncompactedRows(session.file)
    if point.leaf not in line.up:
        raise UsageError(f"{point.leaf}: Claude Code can't read this entry; `turnlog doctor` explains why")
    if line.rows[point.leaf].is_sidechain:
        raise UsageError(f"{point.leaf}: this entry belongs to a sub-agent; choose an entry in the main conversation")
    segments = list(line.iterate_segments(point.leaf))
    chain = [row for part in reversed(segments) for row in part]
    whole = add_side_rows(line, [row for row in chain if not is_boundary(row)])
    kept = {row.index for rows in (chain, whole) for row in rows}
    kept |= {row.index for part in segments for row in _list_preserved_rows(line, part[0])}
    parents = {**dict(_attach_rows(line, whole, kept)), **dict(_repair_parents(line, segments))}
    last = max(kept)
    kept |= _find_companions(session, kept, last)
    places = draft.map_entry_places()
    kept_places = {places[index] for index in kept if index in places}
    removed = set(range(len(draft.rows))) - kept_places
    parent_changes = {places[index]: {"parentUuid": parent} for index, parent in parents.items()}
    shortened = (
        draft.with_changes(parent_changes)
        .with_changes(_make_leaf_newest(line, places, kept, point.leaf))
        .without_rows(removed)
    )
    return shortened.with_added_lines(
        build_leaf_entry(point.leaf, find_last_prompt(session, point.leaf), session.session_id or "")
    )


def check_fork_resumes(session: Session, forked: Transcript) -> None:
    """Refuse a fork that the client could not resume, or that breaks a rule that its source follows."""
    before, after = judge_session(session), judge_session(Session(forked))
    if not after.resumes:
        raise Refused(f"{session.path}: Claude Code would not resume the session from this point; nothing was written")
    known = {rule.name for rule in before.broken}
    for rule in after.broken:
        if rule.severity == "error" and rule.name not in known:
            raise Refused(f"{session.path}: in a fork from this point, {rule.text} [{rule.name}]; nothing was written")


def _list_preserved_rows(line: UncompactedRows, boundary: Entry) -> list[Entry]:
    if not is_boundary(boundary):
        return []
    facts = line.file.read_body(boundary).get("compactMetadata")
    messages = facts.get("preservedMessages") if isinstance(facts, dict) else None
    if not isinstance(messages, dict):
        return []
    uuids = [uuid for value in messages.values() if isinstance(value, list) for uuid in value]
    return [line.rows[uuid] for uuid in uuids if isinstance(uuid, str) and uuid in line.rows]


def _find_companions(session: Session, kept: set[int], last: int) -> set[int]:
    """Find entries without a message that belong to kept rows, and the session's metadata as of the fork point."""
    entries = session.file.entries
    uuids = {entries[index].uuid for index in kept} - {None}
    sides = _find_side_chains(session, kept)
    companions: set[int] = set()
    states: dict[str, list[int]] = {}
    for entry in entries:
        if entry.index in kept or entry.is_lost:
            continue
        if entry.type in LAST_WINS_TYPES:
            states.setdefault(entry.type or "", []).append(entry.index)
        elif entry.uuid in uuids and entry.uuid is not None:  # written twice
            companions.add(entry.index)
        elif entry.index < last and (
            entry.index in sides if entry.is_sidechain else _belongs_to_rows(session, entry, uuids)
        ):
            companions.add(entry.index)
            uuids |= {entry.uuid} - {None}
    for indexes in states.values():  # a state that was first recorded later is better than none
        companions |= {index for index in indexes if index < last} or {indexes[0]}
    return companions


def _belongs_to_rows(session: Session, entry: Entry, uuids: set[RowKey]) -> bool:
    """Return whether an entry that is not an ancestor belongs to a kept row."""
    if entry.type in ("user", "assistant", "last-prompt") or is_boundary(entry):
        return False
    if entry.type in _FILE_HISTORY_TYPES:
        return session.read_body(entry).get("messageId") in uuids
    if entry.type in GRAPH_TYPES or entry.uuid is not None:
        return entry.parent_uuid in uuids and not {entry.kind, entry.subtype} & {*_SPEAKING_KINDS}
    return True


def _find_side_chains(session: Session, kept: set[int]) -> set[int]:
    """Find the entries, in the same file, of sub-agents that were started by a kept call."""
    calls = {call.id: call for call in session.calls}
    indexes: set[int] = set()
    for agent in session.agents:
        call = calls.get(agent.call_id or "")
        if not agent.is_incomplete and (call is None or call.line.index in kept):
            indexes.update(entry.index for entry in agent.inside)
    return indexes


def _repair_parents(line: UncompactedRows, segments: list[list[Entry]]) -> Iterator[tuple[int, str | None]]:
    """Yield the parents that the client uses where a cycle starts or a parent is not in the file.

    The client finds a missing parent by its time, so it might choose a different one after rows are removed.
    """
    for chain in segments:
        if line.up[chain[0].uuid] in line.rows and not is_boundary(chain[0]):
            yield chain[0].index, None
        for above, row in pairwise(chain):
            if line.up[row.uuid] not in line.rows and above.uuid is not None:
                yield row.index, above.uuid


def _attach_rows(line: UncompactedRows, whole: list[Entry], kept: set[int]) -> Iterator[tuple[int, str | None]]:
    """Attach rows whose parent is removed to the preceding row, or the client might mistake a root for the leaf."""
    for before, row in pairwise(whole):
        above = line.rows.get(line.up[row.uuid])
        if above is None or above.index not in kept:
            yield row.index, before.uuid


def _make_leaf_newest(
    line: UncompactedRows, places: dict[int, int], kept: set[int], leaf: str
) -> dict[int, dict[str, str]]:
    """Return a later time for the last row if another row is later: old clients continue from the newest row."""
    below = line.find_descendants([leaf])
    times = [
        time
        for key, row in line.rows.items()
        if row.index in kept and key not in below and (time := line.read_time_ms(row))
    ]
    leaf_time, latest = line.read_time_ms(line.rows[leaf]), max(times, default=0)
    if leaf_time is None or leaf_time >= latest:
        return {}
    return {places[line.rows[leaf].index]: {"timestamp": to_iso_time(parse_timestamp(latest + 1)) or ""}}
