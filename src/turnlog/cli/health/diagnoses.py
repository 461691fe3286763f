"""Human-readable output of `turnlog doctor`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from turnlog.api.lookup import shorten_ids
from turnlog.cli.terminal import TerminalScreen, pad_to_cells, to_visible_line
from turnlog.edit.illnesses.catalogue import ILLNESSES
from turnlog.render.figures import format_count
from turnlog.session.check import SEVERITIES, Severity

if TYPE_CHECKING:
    from turnlog.api.diagnoses import DiagnosedSession, DiagnosisReport, SymptomReport

_SEVERITY_STYLES = {"error": "red", "warning": "yellow", "info": "dim"}
_MAX_TITLE_CHARS = 200
_MAX_LISTED_LINES = 5


def render_diagnosis_report(report: DiagnosisReport, screen: TerminalScreen, *, alone: bool) -> Iterator[str]:
    """Render everything about one session, or one line for each sick session."""
    if alone:
        for session in report.sessions:
            yield from _render_session(session, screen)
        return
    for symptom in report.machine:
        yield from _render_symptom(symptom, screen)
        yield ""
    sick = [session for session in report.sessions if not session.healthy]
    yield from _render_table(sick, screen)
    if sick:
        yield ""
        yield from screen.wrap_prose(
            "Each line: the session, the number of errors and warnings, and the kinds of problems."
        )
        yield "`turnlog doctor SESSION` explains one."
    yield from _count_kinds(report.sessions)
    yield from screen.wrap_prose(_summarize_sessions(report), "red" if report.summary.errors else "green")


def _count_kinds(sessions: list[DiagnosedSession]) -> Iterator[str]:
    """Count the sessions that have each kind of symptom, including notes."""
    found: Counter[tuple[str, Severity]] = Counter()
    for session in sessions:
        found.update({(symptom.kind, symptom.severity) for symptom in session.symptoms})
    if found:
        yield ""
        yield "Sessions by kind of symptom:"
    for (kind, severity), number in sorted(found.items(), key=lambda item: (SEVERITIES.index(item[0][1]), -item[1])):
        yield f"  {number:>6,}  {severity}: {kind}"
    if found:
        yield ""


def _summarize_sessions(report: DiagnosisReport) -> str:
    summary = report.summary
    junk = summary.without_conversation
    left_out = f"; {format_count(junk, 'file')} without a conversation skipped" if junk else ""
    total = format_count(summary.sessions, "session")
    return f"{total} examined: {summary.sick:,} sick, {summary.healthy:,} healthy{left_out}"


def _render_table(sick: list[DiagnosedSession], screen: TerminalScreen) -> Iterator[str]:
    ids = shorten_ids([session.session_id for session in sick])
    for session in sick:
        kinds = dict.fromkeys(symptom.kind for symptom in session.symptoms if symptom.severity != "info")
        amount = f"{session.count_symptoms('error'):>3} {session.count_symptoms('warning'):>3}"
        start = f"{to_visible_line(ids[session.session_id])}  {amount}  "
        rest = f"{', '.join(kinds)}  {to_visible_line((session.title or '')[:_MAX_TITLE_CHARS])}".rstrip()
        style = "red" if session.count_symptoms("error") else "yellow"
        yield screen.paint(start, style) + screen.fit(rest, len(start))


def _render_session(session: DiagnosedSession, screen: TerminalScreen) -> Iterator[str]:
    title = to_visible_line((session.title or "(no title)")[:_MAX_TITLE_CHARS])
    yield screen.paint(f"{to_visible_line(session.session_id)}  {title}", "bold")
    if session.path is not None:
        yield screen.paint(to_visible_line(session.path), "dim")
    for symptom in session.symptoms:
        yield ""
        yield from _render_symptom(symptom, screen)
    yield ""
    if session.healthy and not session.entries:
        yield "Nothing is in the file, so there was nothing to examine."
    elif session.healthy:
        looked = f"examined {session.entries:,} entries and {format_count(session.calls, 'call')}"
        notes = session.count_symptoms("info")
        none = (
            f"{format_count(notes, 'note')} and nothing worse" if notes else f"none of the {len(ILLNESSES)} illnesses"
        )
        yield screen.paint(f"Healthy: {none}; {looked}, {session.resumed:,} entries would be resumed.", "green")
    else:
        errors, warnings = session.count_symptoms("error"), session.count_symptoms("warning")
        counts = f"{format_count(errors, 'error')}, {format_count(warnings, 'warning')}"
        yield screen.paint(counts, "red" if errors else "yellow")


def _render_symptom(symptom: SymptomReport, screen: TerminalScreen) -> Iterator[str]:
    """Render one symptom: what the user notices, what is wrong, the cause, and the remedy."""
    here = symptom.text + _format_places(symptom)
    details = {"cause": symptom.cause, "remedy": symptom.remedy}
    if symptom.severity == "info":  # the user may not have noticed anything
        head = here
    else:
        head, details = symptom.notice, {"here": here, **details}
    yield screen.paint(
        f"{symptom.severity}: {to_visible_line(head)}  [{symptom.kind}]", _SEVERITY_STYLES[symptom.severity]
    )
    for name, text in details.items():
        yield f"  {pad_to_cells(name, 6)}  {to_visible_line(text)}"


def _format_places(symptom: SymptomReport) -> str:
    numbers = list(dict.fromkeys(place.line for place in symptom.places))
    if not numbers:
        return ""
    more = len(numbers) > _MAX_LISTED_LINES or symptom.count > len(symptom.places)
    named = ", ".join(map(str, numbers[:_MAX_LISTED_LINES])) + (" …" if more else "")
    times = f", {symptom.count:,} times" if symptom.count > 1 else ""
    return f" ({'line' if len(numbers) == 1 else 'lines'} {named}{times})"
