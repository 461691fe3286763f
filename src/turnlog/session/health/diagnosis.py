"""What ails a session, as far as its own file tells: the symptoms of the catalogue that it has."""

from __future__ import annotations

from turnlog.session.foreign import explain_foreign_file
from turnlog.session.health import ancestry, bulk, damage, exchange, hidden
from turnlog.session.health.symptoms import Symptom, Symptoms
from turnlog.session.resume.resumed import ResumeView
from turnlog.session.session import Session


def diagnose_session(session: Session) -> list[Symptom]:
    """The symptoms of a session, the gravest first."""
    return diagnose_resume_view(ResumeView(session))


def diagnose_resume_view(view: ResumeView) -> list[Symptom]:
    """The same, where what would be resumed is known already."""
    session, found = view.session, Symptoms()
    if reason := explain_foreign_file(session.file):
        found.note("no-session", "error", reason)
        return found.list_symptoms()
    damage.detect_broken_lines(session.file, found)
    for look in (
        hidden.detect_refusal,
        hidden.detect_hidden_beginning,
        hidden.detect_hidden_end,
        hidden.detect_hidden_answers,
        hidden.detect_stale_parent,
        hidden.detect_lost_preserved,
    ):
        look(view, found)
    for look in (hidden.detect_bad_last_prompt, ancestry.detect_missing_parents, ancestry.detect_extra_roots):
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
