"""Repairs everything that the diagnosis finds in a session, one kind at a time, in a fixed order.

Each repair works on the result of the previous one, and the session is diagnosed again after each; a repair that does
not cure the illness is dropped, and the outcome reports this. Restored entries may have illnesses of their own, so the
rounds continue until nothing changes. The result must be no worse than the source (`verdict`). If the result is worse,
everything is repaired again in small steps, none of which may make anything worse.

Notes (symptoms of severity `info`) are ignored unless the user names their kind, because a rewind looks like a lost
link.

A repair may reorder blocks, add blocks and restore hidden ones, but must not remove anything that the client would
send. Only blocks that the API refuses (`Illness.refused_blocks`) may be removed without asking, because requests that
contain them always fail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from turnlog.edit.draft import Draft
from turnlog.edit.illnesses.catalogue import ALTERNATIVES_BY_KIND, ILLNESSES, REPAIRS_BY_KIND, diagnose_session
from turnlog.edit.illnesses.illness import RepairAttempt, RepairCase, Symptom
from turnlog.edit.illnesses.picker import diagnose_surroundings
from turnlog.edit.illnesses.verdict import Verdict, judge_session, list_regressions
from turnlog.entries.patch import encode_json_line
from turnlog.entries.reader import BytesSource, Transcript
from turnlog.errors import Refused, UsageError
from turnlog.session.resume.api_shape import SHAPE_RULES
from turnlog.session.session import Session

_MAX_ROUNDS = 4
_LINE_ILLNESSES = ("spread-lines", "torn-line", "glued-line", "control-bytes", "broken-line")
_BLOCK_ILLNESSES = (
    *SHAPE_RULES,
    "no-time",
    "unanswered-call",
    "orphan-result",
    "late-result",
    "bad-thinking",
    "bad-image",
)
"""Illnesses that a restored part of the conversation may have."""
REVEALED_ILLNESSES = (*REPAIRS_BY_KIND, *SHAPE_RULES, "no-time")
"""Illnesses that a further repair may cure."""
SentBlocks = Counter[tuple[str, bytes]]
"""How many times each block is sent, by its type and a hash of its content."""


class Treatment(Struct, frozen=True):
    """The outcome for one kind of illness."""

    kind: str
    found: int
    """The number of places that had the illness."""
    done: int
    """The number of places that the repair changed."""
    left: int
    """The number of places that still have the illness."""
    words: str
    """What was done, or why nothing was done and what to do instead."""


class RepairOutcome(NamedTuple):
    treatments: list[Treatment]
    """The outcome for each kind that was found, in the order of the repairs."""
    draft: Draft | None
    """The session after the repair, or None if nothing changed."""
    revealed: list[str]
    """Kinds that were not selected and now affect more places, because restored entries may be ill too."""
    project_dir: Path | None = None
    """The project folder that the result belongs in, if it is another one."""

    @property
    def is_cured(self) -> bool:
        """Whether everything that should be repaired was repaired."""
        return not any(treatment.left for treatment in self.treatments)


class RepairCourse:
    """The repairs of one session, step by step."""

    def __init__(
        self, session: Session, only: Collection[str], passing: Collection[str], *, is_in_place: bool = False
    ) -> None:
        self._only = frozenset(only)
        self._is_in_place = is_in_place
        self._project_dir: Path | None = None
        self._passing = passing
        """Kinds that may temporarily get worse."""
        self._session = session
        self._data: bytes | None = None
        self._symptoms = [*diagnose_session(session), *diagnose_surroundings(session)]
        self._first = self._select_repairable(self._symptoms)
        self._before = _count_by_kind(self._symptoms)
        self._source: Verdict | None = None
        self._verdict: Verdict | None = None
        self._sent: SentBlocks | None = None
        self._treatments: dict[str, Treatment] = {}
        self._reported_left: dict[str, int] = {}
        """The number of places that the repair itself reports as still affected, by kind."""
        self._given_up: set[str] = set()

    def _select_repairable(self, symptoms: list[Symptom]) -> dict[str, tuple[Symptom, ...]]:
        """Return the symptoms to repair, by kind."""
        repairable: dict[str, tuple[Symptom, ...]] = {}
        for symptom in symptoms:
            if symptom.kind in self._only if self._only else symptom.severity != "info":
                repairable[symptom.kind] = (*repairable.get(symptom.kind, ()), symptom)
        if repairable and "torn-line" not in repairable:  # text after a truncated line would be lost with it
            repairable |= {symptom.kind: (symptom,) for symptom in symptoms if symptom.kind == "torn-line"}
        return repairable

    def run(self) -> RepairOutcome:
        """Treat all kinds, round after round, until nothing changes."""
        for _ in range(_MAX_ROUNDS):
            if not self._run_round():
                break
        return self._build_outcome()

    @property
    def is_no_worse(self) -> bool:
        """Whether the result is no worse than the source."""
        return self._source is None or self._verdict is None or not list_regressions(self._source, self._verdict)

    def _run_round(self) -> bool:
        """Treat each kind once, and return whether anything changed."""
        done = False
        for kind in REPAIRS_BY_KIND:
            if kind not in self._given_up and (symptoms := self._select_repairable(self._symptoms).get(kind)):
                done = self._treat_kind(kind, symptoms) or done
        return done

    def _treat_kind(self, kind: str, symptoms: tuple[Symptom, ...]) -> bool:
        before = _count_places(symptoms)
        case = RepairCase(self._session, symptoms, is_named=kind in self._only, is_in_place=self._is_in_place)
        attempt = REPAIRS_BY_KIND[kind](case)
        reason = self._accept_attempt(kind, before, attempt) if attempt.done else attempt.words
        if reason is not None:
            self._given_up.add(kind)
            self._note_treatment(Treatment(kind, before, 0, before, reason))
            return False
        self._project_dir = attempt.project_dir or self._project_dir
        if attempt.left is not None:
            self._given_up.add(kind)
            self._reported_left[kind] = attempt.left
        self._note_treatment(Treatment(kind, before, attempt.done, 0, attempt.words))
        return True

    def _accept_attempt(self, kind: str, before: int, attempt: RepairAttempt) -> str | None:
        """Continue with the result of a repair, or return the reason for rejecting it."""
        if self._verdict is None:
            self._source = self._verdict = judge_session(self._session)
        if self._sent is None:
            self._sent = count_sent_blocks(self._session)
        data = b"".join(attempt.draft.iterate_lines())
        after = Session(Transcript(BytesSource(data), self._session.path))
        verdict, symptoms = judge_session(after), [*diagnose_session(after), *diagnose_surroundings(after)]
        shows_more = verdict.messages > self._verdict.messages
        reasons = list_regressions(self._verdict, verdict, apart_from=self._list_tolerated_kinds(kind, shows_more))
        left = _count_places(self._select_repairable(symptoms).get(kind, ())) if attempt.left is None else attempt.left
        sent = count_sent_blocks(after)
        if kind not in self._only and (loss := find_sent_loss(self._sent, sent, kind)) is not None:
            reasons.append(loss)
        if reasons or (left >= before and not shows_more):
            after.close()
            return f"not done: {reasons[0]}" if reasons else "not done: it would not help"
        if self._data is not None:
            self._session.close()
        self._session, self._data, self._verdict, self._symptoms = after, data, verdict, symptoms
        self._sent = sent
        return None

    def _list_tolerated_kinds(self, kind: str, shows_more: bool) -> Collection[str]:
        """Return the kinds that may get worse because restored entries have illnesses of their own."""
        if kind in _LINE_ILLNESSES:
            return REVEALED_ILLNESSES
        return {*self._passing, *_BLOCK_ILLNESSES} if shows_more else self._passing

    def _note_treatment(self, new: Treatment) -> None:
        earlier = self._treatments.get(new.kind)
        if earlier is not None:
            words = earlier.words if new.words in earlier.words else f"{earlier.words}; {new.words}"
            new = Treatment(new.kind, max(earlier.found, new.found), earlier.done + new.done, new.left, words)
        self._treatments[new.kind] = new

    def _build_outcome(self) -> RepairOutcome:
        sick, after = self._select_repairable(self._symptoms), _count_by_kind(self._symptoms)
        for kind, symptoms in self._first.items():
            if kind not in self._treatments:
                alternative = ALTERNATIVES_BY_KIND.get(kind, "cured by the other repairs")
                words = symptoms[0].remedy if kind in ALTERNATIVES_BY_KIND and symptoms[0].remedy else alternative
                self._treatments[kind] = Treatment(kind, _count_places(symptoms), 0, 0, words)
        order = [*REPAIRS_BY_KIND, *ALTERNATIVES_BY_KIND]
        treatments = [
            msgspec.structs.replace(one, left=self._reported_left.get(one.kind, _count_places(sick.get(one.kind, ()))))
            for one in sorted(self._treatments.values(), key=lambda one: order.index(one.kind))
        ]
        revealed = [kind for kind in after if after[kind] > self._before[kind] and kind not in self._treatments]
        if self._data is None:
            return RepairOutcome(treatments, None, [])
        self._session.close()
        draft = Draft.from_transcript(Transcript.from_bytes(self._data))
        return RepairOutcome(treatments, draft, revealed, self._project_dir)


def _count_places(symptoms: Iterable[Symptom]) -> int:
    return sum(symptom.count for symptom in symptoms)


def _count_by_kind(symptoms: Iterable[Symptom]) -> Counter[str]:
    """Count the affected places of each kind, ignoring notes."""
    counts: Counter[str] = Counter()
    for symptom in symptoms:
        if symptom.severity != "info":
            counts[symptom.kind] += symptom.count
    return counts


def check_illness_kinds(kinds: Iterable[str]) -> None:
    """Refuse an unknown kind of illness."""
    if unknown := [kind for kind in kinds if kind not in ILLNESSES]:
        raise UsageError(f"--only: unknown kind {unknown[0]!r}; choose from {', '.join(ILLNESSES)}")


def repair_session(session: Session, only: Collection[str] = (), *, is_in_place: bool = False) -> RepairOutcome:
    """Repair all kinds of illness in a session, or only the given ones."""
    check_illness_kinds(only)
    course = RepairCourse(session, only, REVEALED_ILLNESSES, is_in_place=is_in_place)
    outcome = course.run()
    return outcome if course.is_no_worse else RepairCourse(session, only, (), is_in_place=is_in_place).run()


# -- what the client would send


def count_sent_blocks(session: Session) -> SentBlocks:
    """Count the blocks that the newest client would send; return an empty count if it would not resume the session."""
    try:
        messages = session.conversation().messages
    except Refused:
        return Counter()
    return Counter(_fingerprint_block(message["role"], block) for message in messages for block in message["content"])


def find_sent_loss(before: SentBlocks, after: SentBlocks, kind: str) -> str | None:
    """Return what the client would no longer send after a repair, or None if nothing important is lost."""
    exempt = ILLNESSES[kind].refused_blocks
    lost = Counter(name for name, _ in (before - after).elements() if name not in exempt)
    if not lost:
        return None
    blocks = ", ".join(f"{number:,} {name}" for name, number in sorted(lost.items()))
    return f"Claude Code sends blocks that would be removed ({blocks}); `--only {kind}` removes them anyway"


def _fingerprint_block(role: str, block: dict[str, Any]) -> tuple[str, bytes]:
    """Return the type and hash of a block, ignoring the parts that a repair may change: tool names and cache hints."""
    content = {key: value for key, value in block.items() if key not in ("name", "cache_control")}
    digest = blake2b(encode_json_line({"role": role, **content}), digest_size=16).digest()
    return str(block.get("type")), digest
