"""What `turnlog doctor` finds in sessions, for people and for programs."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from turnlog.cli.named import short_ids
from turnlog.cli.terminal import Screen, line, pad
from turnlog.demo import is_demo
from turnlog.entries.entry import Entry
from turnlog.errors import TurnlogError
from turnlog.render.figures import count
from turnlog.session.health.check import PLACES, line_numbers
from turnlog.session.health.diagnosis import examined
from turnlog.session.health.illnesses import ILLNESSES
from turnlog.session.health.leftovers import Leftover, leftovers
from turnlog.session.health.statefile import state
from turnlog.session.health.surroundings import around
from turnlog.session.health.symptoms import SEVERITIES, Severity, Spot, Symptom
from turnlog.session.resume.resumed import Resumed
from turnlog.session.session import Session

_STYLES = {"error": "red", "warning": "yellow", "info": "dim"}
_LONGEST = 200
_LINES_NAMED = 5


class Patient(msgspec.Struct, frozen=True):
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

    def count(self, severity: str) -> int:
        """How many symptoms of a severity it has."""
        return sum(symptom.severity == severity for symptom in self.symptoms)

    @property
    def is_healthy(self) -> bool:
        """Whether there is nothing but notes."""
        return not self.count("error") and not self.count("warning")


def visit(path: Path) -> Patient:
    """Examine one session; one that can't be read is ill too."""
    try:
        with Session.open(path) as session:
            view = Resumed(session)
            found = examined(view) + ([] if is_demo(path) else around(session))
            return Patient(
                path,
                session.session_id or path.stem,
                session.title,
                sorted(found, key=lambda symptom: SEVERITIES.index(symptom.severity)),
                line_numbers(session.file) if any(symptom.spots for symptom in found) else {},
                len(session.file.entries),
                len(session.calls),
                len(view.thread),
            )
    except TurnlogError as error:
        return Patient(path, path.stem, None, [Symptom("unreadable", "error", str(error))])


def departed(item: Leftover) -> Patient:
    """A session whose transcript is gone."""
    text = f"{count(len(item.typed), 'prompt')} and {count(item.files, 'file')} are left of it"
    title = item.typed[0].text if item.typed else None
    return Patient(None, item.session_id, title, [Symptom("transcript-gone", "error", text)])


def machine(config_dirs: Iterable[Path]) -> list[Symptom]:
    """What ails no single session."""
    found: list[Symptom] = []
    for folder in config_dirs:
        found += state(folder)
        gone = [item for item in leftovers(folder) if item.typed]
        if gone:
            text = f"{folder}: of {count(len(gone), 'session')} the typed prompts are left, and no transcript"
            found.append(Symptom("transcript-gone", "info", text))
    return found


class Ward(msgspec.Struct, frozen=True):
    """The sessions that were looked at."""

    patients: list[Patient]
    machine: list[Symptom]
    junk: int = 0
    """Files without a conversation, which are not looked at."""

    def count(self, severity: str) -> int:
        """How many symptoms of a severity there are."""
        own = sum(symptom.severity == severity for symptom in self.machine)
        return own + sum(patient.count(severity) for patient in self.patients)

    def document(self) -> dict[str, Any]:
        """The findings as a JSON document."""
        healthy = sum(patient.is_healthy for patient in self.patients)
        return {
            "sessions": [_patient(patient) for patient in self.patients],
            "machine": [_symptom(symptom, "", None, {}) for symptom in self.machine],
            "summary": {
                "sessions": len(self.patients),
                "healthy": healthy,
                "sick": len(self.patients) - healthy,
                "without_conversation": self.junk,
                "errors": self.count("error"),
                "warnings": self.count("warning"),
            },
        }

    def lines(self, screen: Screen, *, alone: bool) -> Iterator[str]:
        """The findings for people: all about one session, or a line for each sick one."""
        if alone:
            for patient in self.patients:
                yield from _told(patient, screen)
            return
        for symptom in self.machine:
            yield from _words(symptom, "ID", None, {}, screen)
            yield ""
        sick = [patient for patient in self.patients if not patient.is_healthy]
        yield from _table(sick, screen)
        if sick:
            yield ""
            yield from screen.prose(
                "Each line: the session, how many errors and warnings, and the kinds of what ails it."
            )
            yield "`turnlog doctor SESSION` explains one."
        yield from self._kinds()
        yield from screen.prose(self._summed(len(sick)), "red" if self.count("error") else "green")

    def _kinds(self) -> Iterator[str]:
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

    def _summed(self, sick: int) -> str:
        total = len(self.patients)
        junk = f"; {count(self.junk, 'file')} without a conversation not looked at" if self.junk else ""
        return f"{count(total, 'session')} looked at: {sick:,} sick, {total - sick:,} healthy{junk}"


def _table(sick: list[Patient], screen: Screen) -> Iterator[str]:
    ids = short_ids([patient.session_id for patient in sick])
    for patient in sick:
        kinds = dict.fromkeys(symptom.kind for symptom in patient.symptoms if symptom.severity != "info")
        amount = f"{patient.count('error'):>3} {patient.count('warning'):>3}"
        start = f"{line(ids[patient.session_id])}  {amount}  "
        rest = f"{', '.join(kinds)}  {line((patient.title or '')[:_LONGEST])}".rstrip()
        style = "red" if patient.count("error") else "yellow"
        yield screen.paint(start, style) + screen.fit(rest, len(start))


def _told(patient: Patient, screen: Screen) -> Iterator[str]:
    title = line((patient.title or "(no title)")[:_LONGEST])
    yield screen.paint(f"{line(patient.session_id)}  {title}", "bold")
    if patient.path is not None:
        yield screen.paint(line(str(patient.path)), "dim")
    for symptom in patient.symptoms:
        yield ""
        yield from _words(symptom, patient.name, patient.path, patient.lines, screen)
    yield ""
    if patient.is_healthy:
        looked = f"looked at {patient.entries:,} entries and {count(patient.calls, 'call')}"
        notes = patient.count("info")
        none = f"{count(notes, 'note')} and nothing worse" if notes else f"none of the {len(ILLNESSES)} illnesses"
        text = f"Healthy: {none}; {looked}, {patient.shown:,} entries would be resumed."
        yield screen.paint(text, "green")
    else:
        errors, warnings = count(patient.count("error"), "error"), count(patient.count("warning"), "warning")
        yield screen.paint(f"{errors}, {warnings}", "red" if patient.count("error") else "yellow")


def _words(symptom: Symptom, session: str, path: Path | None, lines: dict[int, int], screen: Screen) -> Iterator[str]:
    """One symptom in words: notice, case, cause, remedy."""
    illness = ILLNESSES[symptom.kind]
    here = symptom.text + _where(symptom, lines)
    told = {"cause": illness.cause, "remedy": _remedy(symptom, session, path)}
    if symptom.severity == "info":  # nobody may have noticed anything
        head = here
    else:
        head, told = illness.notice, {"here": here, **told}
    yield screen.paint(f"{symptom.severity}: {line(head)}  [{symptom.kind}]", _STYLES[symptom.severity])
    for name, text in told.items():
        yield f"  {pad(name, 6)}  {line(text)}"


def _where(symptom: Symptom, lines: dict[int, int]) -> str:
    numbers = list(dict.fromkeys(lines[spot.item.offset] for spot in symptom.spots))
    if not numbers:
        return ""
    named = ", ".join(map(str, numbers[:_LINES_NAMED])) + (" …" if len(numbers) > _LINES_NAMED else "")
    times = f", {len(symptom.spots):,} times" if len(symptom.spots) > 1 else ""
    return f" ({'line' if len(numbers) == 1 else 'lines'} {named}{times})"


def _remedy(symptom: Symptom, session: str, path: Path | None) -> str:
    cure = _cure(symptom, session, path)
    if symptom.severity != "info" or not cure.startswith("turnlog repair"):
        return cure
    if symptom.kind in ("several-roots", "hidden-tail"):
        return f"none, if you rewound or cleared it; else: {cure}"
    return f"none is needed; else: {cure}"


def _cure(symptom: Symptom, session: str, path: Path | None) -> str:
    illness = ILLNESSES[symptom.kind]
    return illness.cure(symptom.kind, session or "SESSION", str(path or ""), str(path.parent) if path else "")


def _patient(patient: Patient) -> dict[str, Any]:
    return {
        "session_id": patient.session_id,
        "path": None if patient.path is None else str(patient.path),
        "title": patient.title,
        "healthy": patient.is_healthy,
        "entries": patient.entries,
        "calls": patient.calls,
        "resumed": patient.shown,
        "symptoms": [_symptom(item, patient.name, patient.path, patient.lines) for item in patient.symptoms],
    }


def _symptom(symptom: Symptom, session: str, path: Path | None, lines: dict[int, int]) -> dict[str, Any]:
    illness = ILLNESSES[symptom.kind]
    return {
        "kind": symptom.kind,
        "severity": symptom.severity,
        "notice": illness.notice,
        "text": symptom.text,
        "cause": illness.cause,
        "remedy": _remedy(symptom, session, path),
        "count": symptom.count,
        "places": [_place(spot, lines) for spot in symptom.spots[:PLACES]],
    }


def _place(spot: Spot, lines: dict[int, int]) -> dict[str, Any]:
    return {
        "line": lines[spot.item.offset],
        "offset": spot.item.offset,
        "uuid": spot.item.uuid if isinstance(spot.item, Entry) else None,
        "blocks": list(spot.blocks),
        "detail": spot.detail or None,
    }
