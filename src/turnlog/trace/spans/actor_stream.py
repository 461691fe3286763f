"""The entries of one actor, divided into turns and stretches.

Entries are processed in file order, and closed stretches never change again: reading a session in pieces gives the same
stretches as reading it all at once, if only closed or answered work is used.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterable

from turnlog.entries.entry import Entry
from turnlog.session.calls import Call
from turnlog.session.failures import has_failed_entry
from turnlog.session.graph import holds_result
from turnlog.session.notices import parse_notice
from turnlog.session.prompts import Prompt, parse_queued_prompt, parse_user_entry
from turnlog.session.session import Session
from turnlog.session.turns import KINDS_NEEDING_WORK, TURN_KINDS
from turnlog.session.usage.prices import SYNTHETIC_MODEL
from turnlog.trace.spans.span_times import EntryClock, to_nanoseconds
from turnlog.trace.spans.stretches import ActorWork, EndReport, StretchAnswer, TaskNotification, WorkStretch

_TURN_START_KINDS = frozenset(TURN_KINDS)
_SPOKEN_TYPES = ("user", "assistant")
_MAX_CAUSE_STEPS = 1_000
"""How far up to search for the cause of an answer; attachments and progress reports may be in between."""


class ActorStream:
    """The work of one actor: a session without its sub-agents, or a sub-agent."""

    def __init__(
        self,
        session: Session,
        entries: Iterable[Entry],
        *,
        is_agent: bool = False,
        ends: Iterable[EndReport] = (),
        first_turn: int = 1,
    ) -> None:
        self.session = session
        self.clock = EntryClock(session.file)
        self.works: list[ActorWork] = []
        self.notifications: list[TaskNotification] = []
        self.open: WorkStretch | None = None
        """The stretch in progress; there is never more than one."""
        self._is_agent = is_agent
        self._at: ActorWork | None = None
        self._answer: StretchAnswer | None = None
        self._known: set[str] = set()
        self._calls: dict[str, tuple[Call, WorkStretch]] = {}
        self._early: dict[str, tuple[Entry, bool]] = {}
        self._previous: Entry | None = None
        self._of: dict[int, int] = {}
        self._ends = sorted(ends)[::-1]
        for entry in entries:
            if self._ends and (time := to_nanoseconds(entry.timestamp)) is not None:
                self._close_reported(time)
            self._take_entry(entry)
        self._close_reported(None)
        if not is_agent:
            self._number_turns(first_turn)

    def close(self, *, cut_off: bool) -> None:
        """Close the stretch in progress, because nothing more is expected from it."""
        if self.open is not None:
            self.open.close(cut_off=cut_off)
            self.open = None

    def _close_reported(self, before: int | None) -> None:
        """Close a resting stretch whose end was reported earlier; reports in other files are ordered only by time."""
        while self._ends and (before is None or self._ends[-1].time < before):
            end = self._ends.pop()
            if self.open is not None and (self.open.at_rest or end.certain):
                self.close(cut_off=False)

    # -- entries

    def _take_entry(self, entry: Entry) -> None:
        """Add an entry to its parent's turn, or else to the previous turn in progress."""
        file, index, kind, of = self.session.file, entry.index, entry.type, self._of
        if entry.uuid is None and kind not in _SPOKEN_TYPES and entry.kind is None and entry.subtype is None:
            return
        if entry.uuid is not None and (first := file.by_uuid[entry.uuid]) != index:  # written twice
            if first in of:
                of[index] = of[first]
            return
        prompt = None
        if kind == "user" and not holds_result(entry):
            prompt = parse_user_entry(file, entry)
            if prompt.kind == "notification":
                self.notifications.append(TaskNotification(entry, parse_notice(prompt.text)))
            if prompt.kind in _TURN_START_KINDS and not (self._is_agent and self.works):
                of[index] = len(self.works)
                self._begin_turn(entry, prompt)
                self._previous = entry
                return
        place = of.get(entry.parent, -1) if entry.parent < index else -1
        if place < 0:
            place = len(self.works) - 1
        if place < 0:
            if kind not in _SPOKEN_TYPES:
                return
            place = 0
            self.works.append(ActorWork(self.session, entry, None))
        of[index] = place
        self._add_entry(self.works[place], entry, prompt)
        if kind in _SPOKEN_TYPES:
            self._previous = entry

    def _begin_turn(self, entry: Entry, prompt: Prompt) -> None:
        """Start a turn, which ends the work before it; a command may do nothing, so it ends only resting work."""
        weak = prompt.kind in KINDS_NEEDING_WORK
        if self.open is not None and (self.open.at_rest or not weak):
            self.close(cut_off=False)
        kept_at = None if weak else entry.index
        self.works.append(ActorWork(self.session, entry, prompt, [], [entry], kept_at=kept_at, waiting=[entry]))

    def _add_entry(self, work: ActorWork, entry: Entry, prompt: Prompt | None) -> None:
        match entry.type:
            case "assistant":
                self._add_answer(work, entry)
            case "user":
                self._add_results(work, entry) if prompt is None else self._add_user_entry(work, entry, prompt)
            case "system":
                self._add_system_entry(work, entry)
            case "attachment" if entry.kind == "queued_command":
                self._add_queued_entry(work, entry)

    # -- answers

    def _add_answer(self, work: ActorWork, entry: Entry) -> None:
        head = entry.message
        if head is None or (head.model == SYNTHETIC_MODEL and not entry.is_api_error_message):
            return  # empty, or written by the client when it continues without an answer
        work.entries.append(entry)
        key = head.id or entry.uuid or f"@{entry.offset}"
        if key not in self._known:
            self._known.add(key)
            self._begin_answer(work, entry, key)
        answer, stretch = self._answer, self.open
        if stretch is None or self._at is not work:
            return  # a line that was written again later
        calls = self._add_calls(stretch, entry, key)
        if answer is not None and answer.key == key:
            if answer.lines[-1] is not entry:
                answer.lines.append(entry)
            answer.calls += calls
            stretch.failed = bool(entry.is_api_error_message)
            stretch.at_rest = stretch.failed or not answer.calls
            stretch.last = entry

    def _begin_answer(self, work: ActorWork, entry: Entry, key: str) -> None:
        if self._answer is not None:
            self._answer.final = True
        if self.open is None or self._at is not work or self._is_after_rest(work, self.open):
            self.close(cut_off=False)
            start = (work.pending or entry) if work.stretches else work.start
            goes_on = bool(work.stretches) or (work.prompt is None and not self._is_agent)
            self.open = WorkStretch(start, goes_on, entry)
            self.open.compacted, work.compacting = work.compacting, False
            work.stretches.append(self.open)
            self._at = work
        self._answer = StretchAnswer(key, [entry], self._find_cause(entry, key), work.waiting)
        self.open.answers.append(self._answer)
        work.waiting, work.pending = [], None
        work.first_answer = work.first_answer or entry
        if work.kept_at is None and not entry.is_api_error_message:
            work.kept_at = entry.index

    def _is_after_rest(self, work: ActorWork, stretch: WorkStretch) -> bool:
        """Return whether an answer comes after a rest; repeating an interrupted request doesn't count."""
        return stretch.at_rest and bool(work.waiting or stretch.failed or stretch.interrupted)

    def _find_cause(self, entry: Entry, key: str) -> Entry | None:
        """Find what an answer responds to: the nearest message above it, or the previous message if that is missing."""
        rows, index, parent = self.session.file.entries, entry.index, entry.parent
        for _ in range(_MAX_CAUSE_STEPS):
            if not 0 <= parent < index:
                break
            row = rows[parent]
            if row.type in _SPOKEN_TYPES and not (row.message and row.message.id == key):
                return row
            index, parent = parent, row.parent
        return self._previous

    def _add_calls(self, stretch: WorkStretch, entry: Entry, message: str) -> int:
        """Add the calls on a line, and return their number."""
        blocks = [block for block in entry.message.blocks if block.type == "tool_use"] if entry.message else []
        for block in blocks:
            key = block.id or f"@{entry.offset}"
            if key not in self._calls:
                call = Call(key, block.name or "", entry, message)
                if key in self._early:
                    call.result, call.is_error = self._early[key]
                self._calls[key] = call, stretch
                stretch.calls.append(call)
        return len(blocks)

    # -- what is said to the model

    def _add_results(self, work: ActorWork, entry: Entry) -> None:
        work.entries.append(entry)
        work.waiting.append(entry)
        for block in entry.message.blocks if entry.message else ():
            if block.type != "tool_result" or block.tool_use_id is None:
                continue
            is_error = has_failed_entry(self.session.file, entry, block.tool_use_id, block.is_error)
            if block.tool_use_id not in self._calls:
                self._early.setdefault(block.tool_use_id, (entry, is_error))
                continue
            call, stretch = self._calls[block.tool_use_id]
            if call.result is None and not stretch.closed:
                call.result, call.is_error, stretch.last = entry, is_error, entry

    def _add_user_entry(self, work: ActorWork, entry: Entry, prompt: Prompt) -> None:
        stretch = self.open if self._at is work else None
        if prompt.kind == "interrupt":
            if stretch is not None:
                stretch.interrupted = stretch.at_rest = True
                stretch.last = entry
            return
        if prompt.kind == "meta" and work.kept_at is None and entry.parent_uuid == work.start.uuid:
            work.kept_at = entry.index  # the text of the command or skill
        self._add_input(work, entry, stretch)

    def _add_queued_entry(self, work: ActorWork, entry: Entry) -> None:
        """Add a message that was typed, or arrived, while the model was working."""
        attachment = self.session.read_body(entry).get("attachment")
        prompt = parse_queued_prompt(attachment if isinstance(attachment, dict) else {})
        if prompt.kind == "notification":
            self.notifications.append(TaskNotification(entry, parse_notice(prompt.text)))
        self._add_input(work, entry, self.open if self._at is work else None)

    def _add_input(self, work: ActorWork, entry: Entry, stretch: WorkStretch | None) -> None:
        work.entries.append(entry)
        work.waiting.append(entry)
        if stretch is None or stretch.at_rest:
            work.pending = entry

    def _add_system_entry(self, work: ActorWork, entry: Entry) -> None:
        stretch = self.open if self._at is work else None
        if entry.subtype == "compact_boundary":
            if stretch is not None and not stretch.at_rest:
                stretch.compacted = True
            else:
                work.compacting = True
        elif entry.subtype == "turn_duration" and stretch is not None:
            duration = self.session.read_body(entry).get("durationMs")
            if isinstance(duration, int | float) and math.isfinite(duration):
                stretch.duration_ms = round(duration)
            if stretch.at_rest:
                self.close(cut_off=False)

    # -- turns

    def _number_turns(self, first: int) -> None:
        """Number each turn by how many turns were known when it was first answered."""
        certain, later = 0, list[int]()
        for work in self.works:
            if work.prompt is None:
                continue
            before = bisect_left(later, work.first_answer.index) if work.first_answer else len(later)
            work.number = first + certain + before
            if work.kept_at == work.start.index:
                certain += 1
            elif work.kept_at is not None:
                insort(later, work.kept_at)
