"""Repairing a session: what a diagnosis finds, one kind after the other, in a fixed order.

Each repair works on the session as the one before it left it, read again, and the session is examined again after it:
a repair that does not cure is not done, and told. What a repair brings back into the conversation may be ill itself; so
after the last kind the first comes again, as often as something was done. The result must be no worse than the source
(`session.health.resumable`). If it is, all is done once more in small steps, of which none may make anything worse.

Notes (symptoms of severity `info`) are left alone unless their kind is named: a rewind looks like a lost link.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

import msgspec
from msgspec import Struct

from turnlog.edit.draft import Draft
from turnlog.edit.repairs.case import RepairAttempt, RepairCase
from turnlog.edit.repairs.repair_table import REMEDIES_BY_KIND, REPAIRS_BY_KIND
from turnlog.edit.repairs.sent_blocks import SentBlocks, count_sent_blocks, find_sent_loss
from turnlog.entries.reader import BytesSource, Transcript
from turnlog.errors import UsageError
from turnlog.session.health.diagnosis import diagnose_session
from turnlog.session.health.illnesses import ILLNESSES
from turnlog.session.health.surroundings import diagnose_surroundings
from turnlog.session.health.symptoms import Symptom
from turnlog.session.health.verdict import Verdict, judge_session, list_regressions
from turnlog.session.resume.api_shape import SHAPE_RULES
from turnlog.session.session import Session

_MAX_ROUNDS = 4
_LINE_ILLNESSES = ("torn-line", "glued-line", "control-bytes", "broken-line")
_BLOCK_ILLNESSES = (
    *SHAPE_RULES,
    "no-time",
    "unanswered-call",
    "orphan-result",
    "late-result",
    "bad-thinking",
    "bad-image",
)
"""What may ail a part of the conversation that is shown again."""
REVEALED_ILLNESSES = (*REPAIRS_BY_KIND, *SHAPE_RULES, "no-time")
"""What a further repair may cure."""


class Treatment(Struct, frozen=True):
    """What came of one kind of illness."""

    kind: str
    found: int
    """How many places had it."""
    done: int
    """In how many places something was done."""
    left: int
    """How many have it afterwards."""
    words: str
    """What was done, or why nothing was, and what to do instead."""


class RepairOutcome(NamedTuple):
    """A session after its repair."""

    treatments: list[Treatment]
    """One for each kind that was found, in the order of the repairs."""
    draft: Draft | None
    """The session afterwards; None where nothing changed."""
    revealed: list[str]
    """Kinds that were not asked for, and that more of it has now: what is shown again may be ill too."""

    @property
    def is_cured(self) -> bool:
        """Whether nothing is left of what was to be repaired."""
        return not any(treatment.left for treatment in self.treatments)


class RepairCourse:
    """The course of the repairs of one session."""

    def __init__(self, session: Session, only: Collection[str], passing: Collection[str]) -> None:
        self._only = frozenset(only)
        self._passing = passing
        """What may become worse on the way."""
        self._session = session
        self._data: bytes | None = None
        self._symptoms = [*diagnose_session(session), *diagnose_surroundings(session)]
        self._first = self._select_repairable(self._symptoms)
        self._before = _count_by_kind(self._symptoms)
        self._source: Verdict | None = None
        self._verdict: Verdict | None = None
        self._sent: SentBlocks | None = None
        self._told: dict[str, Treatment] = {}
        self._told_left: dict[str, int] = {}
        """How many places of a kind a repair itself has left."""
        self._given_up: set[str] = set()

    def _select_repairable(self, symptoms: list[Symptom]) -> dict[str, tuple[Symptom, ...]]:
        """What of some symptoms is to be repaired, by kind."""
        found: dict[str, tuple[Symptom, ...]] = {}
        for symptom in symptoms:
            if symptom.kind in self._only if self._only else symptom.severity != "info":
                found[symptom.kind] = (*found.get(symptom.kind, ()), symptom)
        if found and "torn-line" not in found:  # whatever is written behind a cut-off line would be lost with it
            found |= {symptom.kind: (symptom,) for symptom in symptoms if symptom.kind == "torn-line"}
        return found

    def run(self) -> RepairOutcome:
        """Treat all kinds, as often as there is something to do."""
        for _ in range(_MAX_ROUNDS):
            if not self._run_round():
                break
        return self._build_outcome()

    @property
    def is_no_worse(self) -> bool:
        """Whether the result is no worse than the source."""
        return self._source is None or self._verdict is None or not list_regressions(self._source, self._verdict)

    def _run_round(self) -> bool:
        """Treat each kind that is there once; whether anything was done."""
        done = False
        for kind in REPAIRS_BY_KIND:
            if kind not in self._given_up and (symptoms := self._select_repairable(self._symptoms).get(kind)):
                done = self._treat_kind(kind, symptoms) or done
        return done

    def _treat_kind(self, kind: str, symptoms: tuple[Symptom, ...]) -> bool:
        before = _count_places(symptoms)
        made = REPAIRS_BY_KIND[kind](RepairCase(self._session, symptoms, is_named=kind in self._only))
        reason = self._accept_result(kind, before, made) if made.done else made.words
        if reason is not None:
            self._given_up.add(kind)
            self._note_treatment(Treatment(kind, before, 0, before, reason))
            return False
        if made.left is not None:
            self._given_up.add(kind)
            self._told_left[kind] = made.left
        self._note_treatment(Treatment(kind, before, made.done, 0, made.words))
        return True

    def _accept_result(self, kind: str, before: int, made: RepairAttempt) -> str | None:
        """Go on with the result of a repair; what speaks against that, in words."""
        if self._verdict is None:
            self._source = self._verdict = judge_session(self._session)
        if self._sent is None:
            self._sent = count_sent_blocks(self._session)
        data = b"".join(made.draft.iterate_lines())
        after = Session(Transcript(BytesSource(data), self._session.path))
        judged, symptoms = judge_session(after), [*diagnose_session(after), *diagnose_surroundings(after)]
        shows_more = judged.messages > self._verdict.messages
        reasons = list_regressions(self._verdict, judged, apart_from=self._list_tolerated_kinds(kind, shows_more))
        left = _count_places(self._select_repairable(symptoms).get(kind, ())) if made.left is None else made.left
        sent = count_sent_blocks(after)
        if kind not in self._only and (loss := find_sent_loss(self._sent, sent, kind)) is not None:
            reasons.append(loss)
        if reasons or (left >= before and not shows_more):
            after.close()
            return f"not done: {reasons[0]}" if reasons else "not done: it would not help"
        if self._data is not None:
            self._session.close()
        self._session, self._data, self._verdict, self._symptoms = after, data, judged, symptoms
        self._sent = sent
        return None

    def _list_tolerated_kinds(self, kind: str, shows_more: bool) -> Collection[str]:
        """Entries that can be read, or are shown, again bring their own illnesses with them."""
        if kind in _LINE_ILLNESSES:
            return REVEALED_ILLNESSES
        return {*self._passing, *_BLOCK_ILLNESSES} if shows_more else self._passing

    def _note_treatment(self, found: Treatment) -> None:
        told = self._told.get(found.kind)
        if told is not None:
            words = told.words if found.words in told.words else f"{told.words}; {found.words}"
            found = Treatment(found.kind, max(told.found, found.found), told.done + found.done, found.left, words)
        self._told[found.kind] = found

    def _build_outcome(self) -> RepairOutcome:
        """What came of it."""
        sick, after = self._select_repairable(self._symptoms), _count_by_kind(self._symptoms)
        for kind, symptoms in self._first.items():
            if kind not in self._told:
                words = REMEDIES_BY_KIND.get(kind, "gone with the other repairs")
                self._told[kind] = Treatment(kind, _count_places(symptoms), 0, 0, words)
        order = [*REPAIRS_BY_KIND, *REMEDIES_BY_KIND]
        treatments = [
            msgspec.structs.replace(told, left=self._told_left.get(told.kind, _count_places(sick.get(told.kind, ()))))
            for told in sorted(self._told.values(), key=lambda told: order.index(told.kind))
        ]
        revealed = [kind for kind in after if after[kind] > self._before[kind] and kind not in self._told]
        if self._data is None:
            return RepairOutcome(treatments, None, [])
        self._session.close()
        return RepairOutcome(treatments, Draft.from_transcript(Transcript.from_bytes(self._data)), revealed)


def _count_places(symptoms: Iterable[Symptom]) -> int:
    return sum(symptom.count for symptom in symptoms)


def _count_by_kind(symptoms: Iterable[Symptom]) -> Counter[str]:
    """How many places have each kind, notes aside."""
    found: Counter[str] = Counter()
    for symptom in symptoms:
        if symptom.severity != "info":
            found[symptom.kind] += symptom.count
    return found


__all__ = ["REMEDIES_BY_KIND", "REPAIRS_BY_KIND", "RepairOutcome", "Treatment", "check_illness_kinds", "repair_session"]


def check_illness_kinds(kinds: Iterable[str]) -> None:
    """Refuse names that are no kind of illness."""
    if unknown := [kind for kind in kinds if kind not in ILLNESSES]:
        raise UsageError(f"--only {unknown[0]}: there is no such kind; the kinds are {', '.join(ILLNESSES)}")


def repair_session(session: Session, only: Collection[str] = ()) -> RepairOutcome:
    """Repair a session as far as that can be done; of some kinds only, if they are named."""
    check_illness_kinds(only)
    bold = RepairCourse(session, only, REVEALED_ILLNESSES)
    found = bold.run()
    return found if bold.is_no_worse else RepairCourse(session, only, ()).run()
