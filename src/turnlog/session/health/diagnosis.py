"""What ails a session, as far as its own file tells: the symptoms of the catalogue that it has."""

from __future__ import annotations

import re

from turnlog.entries.entry import Scrap
from turnlog.entries.reader import Transcript
from turnlog.session.foreign_files import explain_foreign_file
from turnlog.session.health import ancestry, bulk, exchange, hidden_messages
from turnlog.session.health.symptoms import Symptom, Symptoms
from turnlog.session.resume_view import ResumeView
from turnlog.session.session import Session

_CONTROL_BYTES = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def detect_broken_lines(file: Transcript, found: Symptoms) -> None:
    """Lines that are no entry, and entries that share a line."""
    for scrap in file.scraps:
        if scrap.kind == "torn":
            found.add_items("torn-line", "warning", "the last line is cut off", [scrap])
        elif scrap.kind == "broken":
            _detect_broken_line(file, scrap, found)
        elif scrap.kind == "padding":
            found.add_items("control-bytes", "warning", "NUL bytes stand in the file", [scrap])
        elif scrap.kind == "value":
            found.add_items("broken-line", "warning", "a line holds JSON that is no entry", [scrap])
    behind = [entry for entry in file.entries if entry.flaw == "behind"]
    found.add_items(
        "glued-line", "error", "an entry stands behind something else on its line, where no client reads it", behind
    )


def _detect_broken_line(file: Transcript, scrap: Scrap, found: Symptoms) -> None:
    if _CONTROL_BYTES.search(file.read_raw(scrap)):
        found.add_items("control-bytes", "error", "control bytes make a line unreadable", [scrap])
    else:
        found.add_items("broken-line", "error", "a line is no JSON; no client reads it", [scrap])


def diagnose_session(session: Session) -> list[Symptom]:
    """The symptoms of a session, the gravest first."""
    return diagnose_resume_view(ResumeView(session))


def diagnose_resume_view(view: ResumeView) -> list[Symptom]:
    """The same, where what would be resumed is known already."""
    session, found = view.session, Symptoms()
    if reason := explain_foreign_file(session.file):
        found.note("no-session", "error", reason)
        return found.list_symptoms()
    detect_broken_lines(session.file, found)
    for look in (
        hidden_messages.detect_refusal,
        hidden_messages.detect_hidden_beginning,
        hidden_messages.detect_hidden_end,
        hidden_messages.detect_hidden_answers,
        hidden_messages.detect_stale_parent,
        hidden_messages.detect_lost_preserved,
    ):
        look(view, found)
    for look in (hidden_messages.detect_bad_last_prompt, ancestry.detect_missing_parents, ancestry.detect_extra_roots):
        look(view, found)
    for own in (
        ancestry.detect_copies,
        ancestry.detect_rings,
        ancestry.detect_strangers,
        ancestry.detect_parallel_writers,
        bulk.detect_giant_results,
        bulk.detect_progress_bloat,
    ):
        own(session, found)
    for look in (
        exchange.detect_unmatched_calls,
        exchange.detect_bad_tool_names,
        exchange.detect_bad_thinking,
        exchange.detect_bad_images,
    ):
        look(view, found)
    return found.list_symptoms()
