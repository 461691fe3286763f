"""Diagnoses sessions: what the user notices, what is wrong, why, and how to fix it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import MsgspecError, Struct
from msgspec.json import decode as decode_json
from msgspec.json import encode as encode_json

from turnlog.api.config import Config, data_dir, load_config
from turnlog.api.lookup import (
    DEMO_NOTICE,
    Notify,
    find_whole_copies,
    list_config_folders,
    locate_session,
    mention_unlisted,
)
from turnlog.demo import is_demo
from turnlog.edit.illnesses.catalogue import ILLNESSES, diagnose_resume_view
from turnlog.edit.illnesses.files import describe_unreadable, diagnose_state_file
from turnlog.edit.illnesses.illness import REPAIR_COMMAND, Symptom, SymptomSpot
from turnlog.edit.illnesses.lost_parts import LOST_PART_KINDS
from turnlog.edit.illnesses.lost_transcripts import (
    Leftover,
    describe_copy,
    describe_leftover,
    diagnose_leftovers,
    list_leftovers,
)
from turnlog.edit.illnesses.picker import diagnose_surroundings
from turnlog.edit.illnesses.resume_view import ResumeView
from turnlog.edit.whole_copies import WholeCopies
from turnlog.entries.agents import list_folders_once
from turnlog.entries.belongings import read_history
from turnlog.entries.entry import Entry
from turnlog.entries.peek import peek_files
from turnlog.errors import NotFound, TurnlogError
from turnlog.session.check import MAX_NAMED_PLACES, SEVERITIES, Severity, map_line_numbers
from turnlog.session.session import Session
from turnlog.session.session_lookup import list_sessions_or_demo
from turnlog.store.healthy_sessions import HealthySessions

if TYPE_CHECKING:
    from turnlog.api.index import Progress

_MIN_ID_CHARS = 4
"""The minimum number of characters of an id that identify a session that is gone."""


class SymptomPlace(Struct, frozen=True):
    """Where a symptom was found."""

    line: int
    offset: int
    uuid: str | None
    blocks: list[int]
    """The index of the block in the message, followed by its index inside a result, if any."""
    detail: str | None


class SymptomReport(Struct, frozen=True):
    """A problem with one session or with the machine."""

    kind: str
    severity: Severity
    notice: str
    """What the user notices."""
    text: str
    """What is wrong here."""
    cause: str
    remedy: str
    count: int
    places: list[SymptomPlace]
    """The first places where it was found."""


class DiagnosedSession(Struct, frozen=True):
    """One session and its symptoms."""

    session_id: str
    path: str | None
    """None if the transcript is gone."""
    title: str | None
    healthy: bool
    """Whether the session has no symptoms more severe than notes."""
    entries: int
    calls: int
    resumed: int
    """The number of entries that would be resumed."""
    symptoms: list[SymptomReport]

    def count_symptoms(self, severity: str) -> int:
        """Count the symptoms that have the given severity."""
        return sum(symptom.severity == severity for symptom in self.symptoms)


class DiagnosisSummary(Struct, frozen=True):
    """The number of sessions by health, and the number of errors and warnings."""

    sessions: int
    healthy: int
    sick: int
    without_conversation: int
    """Files without a conversation, which were not examined."""
    errors: int
    warnings: int


class DiagnosisReport(Struct, frozen=True):
    """The symptoms of the examined sessions and of the machine."""

    sessions: list[DiagnosedSession]
    machine: list[SymptomReport]
    summary: DiagnosisSummary


def diagnose_session(
    session: str | Path, *, config: Config | None = None, notify: Notify | None = None
) -> DiagnosisReport:
    """Diagnose one session, even if its transcript is gone; nothing is changed."""
    config = config or load_config()
    try:
        return _build_report([examine_session_file(locate_session(session, config, notify))], [])
    except NotFound:
        found = _examine_gone_session(str(session), list_config_folders(config))
        if found is None:
            raise
        return _build_report([found], [])


def _examine_gone_session(name: str, config_dirs: Iterable[Path]) -> DiagnosedSession | None:
    """Describe the one session without a transcript that a name refers to; return None if there is no such session."""
    copies = find_whole_copies(name)
    wanted = copies[0].session_id if len(copies) == 1 else name.lower()
    leftovers = [item for folder in config_dirs for item in list_leftovers(folder)]
    matches = [item for item in leftovers if len(wanted) >= _MIN_ID_CHARS and item.session_id.startswith(wanted)]
    if len(matches) == 1:
        return examine_leftover(matches[0])
    if len(copies) != 1:
        return None
    return _to_diagnosed_session(None, copies[0].session_id, copies[0].title, [describe_copy(copies[0])])


@list_folders_once()
def diagnose_machine(
    *,
    fresh: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> DiagnosisReport:
    """Diagnose all sessions on this machine, and the machine itself.

    Sessions that were healthy before and have not changed since are not read again, unless `fresh` is true.
    """
    folders = list_config_folders(config or load_config())
    files, is_made_up, survey = list_sessions_or_demo(folders)
    if notify:
        mention_unlisted(survey.unlisted, notify)
        if is_made_up:
            notify(DEMO_NOTICE)
    ends = peek_files([item.file for item in files])
    has_empty = any(end.junk == "empty" for end in ends)
    typed_ids = {row.get("sessionId") for folder in folders for row in read_history(folder)} if has_empty else set()
    paths = [
        item.path
        for item, end in zip(files, ends, strict=True)
        # An empty file is sick if something was typed in its session.
        if end.junk in (None, "unreadable") or (end.junk == "empty" and item.session_id in typed_ids)
    ]
    sessions = []
    with closing(HealthySessions(data_dir())) as known:
        for number, path in enumerate(paths):
            if progress:
                progress(number, len(paths))
            sessions.append(_examine_changed_file(path, known, fresh=fresh))
        known.forget_others(paths)
    if progress:
        progress(len(paths), len(paths))
    machine = [_to_symptom_report(symptom, "ID", None, {}) for symptom in find_machine_symptoms(folders)]
    return _build_report(sessions, machine, len(files) - len(paths))


def _build_report(sessions: list[DiagnosedSession], machine: list[SymptomReport], junk: int = 0) -> DiagnosisReport:
    healthy = sum(session.healthy for session in sessions)
    errors, warnings = (
        sum(symptom.severity == severity for symptom in machine)
        + sum(session.count_symptoms(severity) for session in sessions)
        for severity in ("error", "warning")
    )
    summary = DiagnosisSummary(len(sessions), healthy, len(sessions) - healthy, junk, errors, warnings)
    return DiagnosisReport(sessions, machine, summary)


class _HealthyRecord(Struct, frozen=True):
    """What is remembered of a healthy session."""

    session: DiagnosedSession
    folder: str | None
    """Its working directory; whether that exists belongs to the diagnosis."""
    has_folder: bool


def _examine_changed_file(path: Path, known: HealthySessions, *, fresh: bool) -> DiagnosedSession:
    """Examine a session, unless it is known to be healthy in its current state."""
    if is_demo(path):
        return examine_session_file(path)
    state = known.compute_state(path)  # before reading: what is written meanwhile is examined the next time
    if not fresh and (document := known.read(path, state)) is not None:
        with suppress(MsgspecError):
            record = decode_json(document, type=_HealthyRecord)
            if record.folder is None or os.path.isdir(record.folder) == record.has_folder:  # noqa: PTH112
                return record.session
    found, folder = _examine_file(path)
    if found.healthy:
        record = _HealthyRecord(found, folder, folder is not None and os.path.isdir(folder))  # noqa: PTH112
        with suppress(UnicodeEncodeError):  # half a surrogate pair, in a title
            known.remember(path, state, encode_json(record))
    return found


def examine_session_file(path: Path) -> DiagnosedSession:
    """Examine one session; an unreadable session is reported as sick."""
    return _examine_file(path)[0]


def _examine_file(path: Path) -> tuple[DiagnosedSession, str | None]:
    """Examine a session; return also its working directory."""
    try:
        with Session.open(path) as session:
            view = ResumeView(session)
            found = diagnose_resume_view(view) + ([] if is_demo(path) else diagnose_surroundings(session))
            diagnosed = _to_diagnosed_session(
                path,
                session.session_id or path.stem,
                session.title,
                sorted(found, key=lambda symptom: SEVERITIES.index(symptom.severity)),
                map_line_numbers(session.file) if any(symptom.spots for symptom in found) else {},
                (len(session.file.entries), len(session.calls), len(view.thread)),
            )
            return diagnosed, session.folders[0] if session.folders else None
    except TurnlogError as error:
        return _to_diagnosed_session(path, path.stem, None, [describe_unreadable(error)]), None


def examine_leftover(item: Leftover) -> DiagnosedSession:
    """Describe a session whose transcript is gone."""
    copy = WholeCopies(data_dir()).find_by_id(item.session_id)
    first_prompt = item.typed[0].text if item.typed else None
    title = (copy.title if copy else None) or first_prompt
    return _to_diagnosed_session(None, item.session_id, title, [describe_leftover(item, copy)])


def find_machine_symptoms(config_dirs: Iterable[Path]) -> list[Symptom]:
    """Find problems that affect the machine rather than a single session."""
    copies = WholeCopies(data_dir())
    return [
        symptom
        for folder in config_dirs
        for symptom in (*diagnose_state_file(folder), *diagnose_leftovers(folder, copies))
    ]


def _to_diagnosed_session(
    path: Path | None,
    session_id: str,
    title: str | None,
    symptoms: list[Symptom],
    lines: dict[int, int] | None = None,
    counts: tuple[int, int, int] = (0, 0, 0),
) -> DiagnosedSession:
    is_found_by_id = path is None or path.parent.parent.name == "projects"
    name = session_id if is_found_by_id else shlex.quote(str(path))
    is_healthy = all(symptom.severity == "info" for symptom in symptoms)
    reports = [_to_symptom_report(item, name, path, lines or {}) for item in symptoms]
    return DiagnosedSession(session_id, str(path) if path else None, title, is_healthy, *counts, reports)


def _to_symptom_report(symptom: Symptom, session: str, path: Path | None, lines: dict[int, int]) -> SymptomReport:
    illness = ILLNESSES[symptom.kind]
    return SymptomReport(
        symptom.kind,
        symptom.severity,
        symptom.notice or (symptom.severity == "warning" and illness.old_notice) or illness.notice,
        symptom.text,
        illness.cause,
        _choose_remedy(symptom, session, path),
        symptom.count,
        [_to_symptom_place(spot, lines) for spot in symptom.spots[:MAX_NAMED_PLACES]],
    )


def _to_symptom_place(spot: SymptomSpot, lines: dict[int, int]) -> SymptomPlace:
    uuid = spot.item.uuid if isinstance(spot.item, Entry) else None
    return SymptomPlace(lines[spot.item.offset], spot.item.offset, uuid, list(spot.blocks), spot.detail or None)


def _choose_remedy(symptom: Symptom, session: str, path: Path | None) -> str:
    illness = ILLNESSES[symptom.kind]
    place, project = str(path or ""), str(path.parent) if path else ""
    if path is not None and symptom.kind in LOST_PART_KINDS:
        with suppress(OSError):
            if command := WholeCopies(data_dir()).find_larger_generation(path):
                return command
    cure = symptom.remedy or illness.describe_cure(session, place, project)
    is_optional = symptom.severity == "info" and illness.remedy == REPAIR_COMMAND
    return f"{illness.remedy_if_noted}; else: {cure}" if is_optional else cure
