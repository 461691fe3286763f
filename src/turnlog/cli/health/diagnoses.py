"""What `turnlog doctor` finds in sessions, for people and for programs."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from turnlog.api.lookup import shorten_ids
from turnlog.cli.terminal import TerminalScreen, pad_to_cells, to_visible_line
from turnlog.demo import is_demo
from turnlog.edit.illnesses.catalogue import ILLNESSES, diagnose_resume_view
from turnlog.edit.illnesses.files import describe_unreadable, diagnose_state_file
from turnlog.edit.illnesses.illness import REPAIR_COMMAND, Symptom, SymptomSpot
from turnlog.edit.illnesses.lost_transcripts import Leftover, describe_leftover, diagnose_leftovers
from turnlog.edit.illnesses.picker import diagnose_surroundings
from turnlog.edit.illnesses.resume_view import ResumeView
from turnlog.entries.entry import Entry
from turnlog.errors import TurnlogError
from turnlog.render.figures import format_count
from turnlog.session.check import MAX_NAMED_PLACES, SEVERITIES, Severity, map_line_numbers
from turnlog.session.session import Session

_SEVERITY_STYLES = {"error": "red", "warning": "yellow", "info": "dim"}
_MAX_TITLE_CHARS = 200
_MAX_LISTED_LINES = 5


class ExaminedSession(msgspec.Struct, frozen=True):
    """One session and what ails it."""

    path: Path | None
    session_id: str
    title: str | None
    symptoms: list[Symptom]
    lines: dict[int, int] = {}
    """The numbers of lines by the offset at which they begin, where there is anything to tell."""
    entries: int = 0
    calls: int = 0
    shown: int = 0
    """Entries that a resume would go on with."""

    @property
    def name(self) -> str:
        """What to call it in a command: its id where that finds it, else its path."""
        is_found = self.path is None or self.path.parent.parent.name == "projects"
        return self.session_id if is_found else shlex.quote(str(self.path))

    def count_symptoms(self, severity: str) -> int:
        """How many symptoms of a severity it has."""
        return sum(symptom.severity == severity for symptom in self.symptoms)

    @property
    def is_healthy(self) -> bool:
        """Whether there is nothing but notes."""
        return not self.count_symptoms("error") and not self.count_symptoms("warning")


def examine_session_file(path: Path) -> ExaminedSession:
    """Examine one session; one that can't be read is ill too."""
    try:
        with Session.open(path) as session:
            view = ResumeView(session)
            found = diagnose_resume_view(view) + ([] if is_demo(path) else diagnose_surroundings(session))
            return ExaminedSession(
                path,
                session.session_id or path.stem,
                session.title,
                sorted(found, key=lambda symptom: SEVERITIES.index(symptom.severity)),
                map_line_numbers(session.file) if any(symptom.spots for symptom in found) else {},
                len(session.file.entries),
                len(session.calls),
                len(view.thread),
            )
    except TurnlogError as error:
        return ExaminedSession(path, path.stem, None, [describe_unreadable(error)])


def examine_leftover(item: Leftover) -> ExaminedSession:
    """A session whose transcript is gone."""
    title = item.typed[0].text if item.typed else None
    return ExaminedSession(None, item.session_id, title, [describe_leftover(item)])


def find_machine_symptoms(config_dirs: Iterable[Path]) -> list[Symptom]:
    """The symptoms that concern no single session."""
    return [
        symptom for folder in config_dirs for symptom in (*diagnose_state_file(folder), *diagnose_leftovers(folder))
    ]


class DoctorReport(msgspec.Struct, frozen=True):
    """The sessions that were looked at."""

    patients: list[ExaminedSession]
    machine: list[Symptom]
    junk: int = 0
    """Files without a conversation, which are not looked at."""

    def count_symptoms(self, severity: str) -> int:
        """How many symptoms of a severity there are."""
        own = sum(symptom.severity == severity for symptom in self.machine)
        return own + sum(patient.count_symptoms(severity) for patient in self.patients)

    def to_document(self) -> dict[str, Any]:
        """The findings as a JSON document."""
        healthy = sum(patient.is_healthy for patient in self.patients)
        return {
            "sessions": [_to_session_document(patient) for patient in self.patients],
            "machine": [_to_symptom_document(symptom, "", None, {}) for symptom in self.machine],
            "summary": {
                "sessions": len(self.patients),
                "healthy": healthy,
                "sick": len(self.patients) - healthy,
                "without_conversation": self.junk,
                "errors": self.count_symptoms("error"),
                "warnings": self.count_symptoms("warning"),
            },
        }

    def render_lines(self, screen: TerminalScreen, *, alone: bool) -> Iterator[str]:
        """The findings for people: all about one session, or a line for each sick one."""
        if alone:
            for patient in self.patients:
                yield from _render_session(patient, screen)
            return
        for symptom in self.machine:
            yield from _render_symptom(symptom, "ID", None, {}, screen)
            yield ""
        sick = [patient for patient in self.patients if not patient.is_healthy]
        yield from _render_table(sick, screen)
        if sick:
            yield ""
            yield from screen.wrap_prose(
                "Each line: the session, how many errors and warnings, and the kinds of what ails it."
            )
            yield "`turnlog doctor SESSION` explains one."
        yield from self._count_kinds()
        yield from screen.wrap_prose(
            self._summarize_sessions(len(sick)), "red" if self.count_symptoms("error") else "green"
        )

    def _count_kinds(self) -> Iterator[str]:
        """How many sessions have each kind, notes too."""
        found: Counter[tuple[str, Severity]] = Counter()
        for patient in self.patients:
            found.update({(symptom.kind, symptom.severity) for symptom in patient.symptoms})
        if found:
            yield ""
            yield "Sessions by kind of symptom:"
        for (kind, severity), number in sorted(
            found.items(), key=lambda item: (SEVERITIES.index(item[0][1]), -item[1])
        ):
            yield f"  {number:>6,}  {severity}: {kind}"
        if found:
            yield ""

    def _summarize_sessions(self, sick: int) -> str:
        total = len(self.patients)
        junk = f"; {format_count(self.junk, 'file')} without a conversation not looked at" if self.junk else ""
        return f"{format_count(total, 'session')} looked at: {sick:,} sick, {total - sick:,} healthy{junk}"


def _render_table(sick: list[ExaminedSession], screen: TerminalScreen) -> Iterator[str]:
    ids = shorten_ids([patient.session_id for patient in sick])
    for patient in sick:
        kinds = dict.fromkeys(symptom.kind for symptom in patient.symptoms if symptom.severity != "info")
        amount = f"{patient.count_symptoms('error'):>3} {patient.count_symptoms('warning'):>3}"
        start = f"{to_visible_line(ids[patient.session_id])}  {amount}  "
        rest = f"{', '.join(kinds)}  {to_visible_line((patient.title or '')[:_MAX_TITLE_CHARS])}".rstrip()
        style = "red" if patient.count_symptoms("error") else "yellow"
        yield screen.paint(start, style) + screen.fit(rest, len(start))


def _render_session(patient: ExaminedSession, screen: TerminalScreen) -> Iterator[str]:
    title = to_visible_line((patient.title or "(no title)")[:_MAX_TITLE_CHARS])
    yield screen.paint(f"{to_visible_line(patient.session_id)}  {title}", "bold")
    if patient.path is not None:
        yield screen.paint(to_visible_line(str(patient.path)), "dim")
    for symptom in patient.symptoms:
        yield ""
        yield from _render_symptom(symptom, patient.name, patient.path, patient.lines, screen)
    yield ""
    if patient.is_healthy:
        looked = f"looked at {patient.entries:,} entries and {format_count(patient.calls, 'call')}"
        notes = patient.count_symptoms("info")
        none = (
            f"{format_count(notes, 'note')} and nothing worse" if notes else f"none of the {len(ILLNESSES)} illnesses"
        )
        text = f"Healthy: {none}; {looked}, {patient.shown:,} entries would be resumed."
        yield screen.paint(text, "green")
    else:
        errors, warnings = (
            format_count(patient.count_symptoms("error"), "error"),
            format_count(patient.count_symptoms("warning"), "warning"),
        )
        yield screen.paint(f"{errors}, {warnings}", "red" if patient.count_symptoms("error") else "yellow")


def _render_symptom(
    symptom: Symptom, session: str, path: Path | None, lines: dict[int, int], screen: TerminalScreen
) -> Iterator[str]:
    """One symptom in words: notice, case, cause, remedy."""
    illness = ILLNESSES[symptom.kind]
    here = symptom.text + _format_places(symptom, lines)
    told = {"cause": illness.cause, "remedy": _choose_remedy(symptom, session, path)}
    if symptom.severity == "info":  # nobody may have noticed anything
        head = here
    else:
        head, told = illness.notice, {"here": here, **told}
    yield screen.paint(
        f"{symptom.severity}: {to_visible_line(head)}  [{symptom.kind}]", _SEVERITY_STYLES[symptom.severity]
    )
    for name, text in told.items():
        yield f"  {pad_to_cells(name, 6)}  {to_visible_line(text)}"


def _format_places(symptom: Symptom, lines: dict[int, int]) -> str:
    numbers = list(dict.fromkeys(lines[spot.item.offset] for spot in symptom.spots))
    if not numbers:
        return ""
    named = ", ".join(map(str, numbers[:_MAX_LISTED_LINES])) + (" …" if len(numbers) > _MAX_LISTED_LINES else "")
    times = f", {len(symptom.spots):,} times" if len(symptom.spots) > 1 else ""
    return f" ({'line' if len(numbers) == 1 else 'lines'} {named}{times})"


def _choose_remedy(symptom: Symptom, session: str, path: Path | None) -> str:
    illness = ILLNESSES[symptom.kind]
    cure = illness.describe_cure(session or "SESSION", str(path or ""), str(path.parent) if path else "")
    is_optional = symptom.severity == "info" and illness.remedy == REPAIR_COMMAND
    return f"{illness.remedy_if_noted}; else: {cure}" if is_optional else cure


def _to_session_document(patient: ExaminedSession) -> dict[str, Any]:
    return {
        "session_id": patient.session_id,
        "path": None if patient.path is None else str(patient.path),
        "title": patient.title,
        "healthy": patient.is_healthy,
        "entries": patient.entries,
        "calls": patient.calls,
        "resumed": patient.shown,
        "symptoms": [
            _to_symptom_document(item, patient.name, patient.path, patient.lines) for item in patient.symptoms
        ],
    }


def _to_symptom_document(symptom: Symptom, session: str, path: Path | None, lines: dict[int, int]) -> dict[str, Any]:
    illness = ILLNESSES[symptom.kind]
    return {
        "kind": symptom.kind,
        "severity": symptom.severity,
        "notice": illness.notice,
        "text": symptom.text,
        "cause": illness.cause,
        "remedy": _choose_remedy(symptom, session, path),
        "count": symptom.count,
        "places": [_to_place_document(spot, lines) for spot in symptom.spots[:MAX_NAMED_PLACES]],
    }


def _to_place_document(spot: SymptomSpot, lines: dict[int, int]) -> dict[str, Any]:
    return {
        "line": lines[spot.item.offset],
        "offset": spot.item.offset,
        "uuid": spot.item.uuid if isinstance(spot.item, Entry) else None,
        "blocks": list(spot.blocks),
        "detail": spot.detail or None,
    }
