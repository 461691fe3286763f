"""What ails a session, as far as its own file tells: the symptoms of the catalogue that it has."""

from __future__ import annotations

from turnlog.session.foreign import foreign
from turnlog.session.health import ancestry, bulk, damage, exchange, hidden
from turnlog.session.health.symptoms import Symptom, Symptoms
from turnlog.session.resume.resumed import Resumed
from turnlog.session.session import Session


def diagnose(session: Session) -> list[Symptom]:
    """The symptoms of a session, the gravest first."""
    return examined(Resumed(session))


def examined(view: Resumed) -> list[Symptom]:
    """The same, where what would be resumed is known already."""
    session, found = view.session, Symptoms()
    if reason := foreign(session.file):
        found.note("no-session", "error", reason)
        return found.all()
    damage.lines(session.file, found)
    for look in (hidden.refusal, hidden.beginning, hidden.end, hidden.answers, hidden.stale, hidden.preserved):
        look(view, found)
    for look in (hidden.last_prompt, ancestry.parents, ancestry.roots):
        look(view, found)
    for own in (ancestry.copies, ancestry.rings, ancestry.strangers, ancestry.writers, bulk.results, bulk.progress):
        own(session, found)
    for look in (exchange.calls, exchange.names, exchange.thinking, exchange.images):
        look(view, found)
    return found.all()
