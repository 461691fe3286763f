"""The properties that must hold for any bytes."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import HealthCheck, given, settings

from tests.entries.strategies import assert_accounted, assert_grows, cuts, files
from turnlog.errors import TurnlogError
from turnlog.session.check import check
from turnlog.session.session import Session
from turnlog.session.session_summary import summarize_session


def check_properties(data: bytes, places: list[int]) -> None:
    """Check that every byte is accounted for, that growing equals reading the whole, and that no view raises."""
    assert_accounted(data)
    assert_grows(data, places)
    read_all_views(Session.from_bytes(data))


def read_all_views(session: Session) -> None:
    """Compute every view of a session; only a refusal to resume may raise an exception."""
    summarize_session(session)
    check(session)
    for message in session.messages:
        session.read_content(message)
    for call in session.calls:
        session.read_detail(call)
    for as_sent in (False, True):
        with suppress(TurnlogError):
            session.conversation(as_sent=as_sent)


def check_raw_bytes(data: bytes) -> None:
    """Check raw bytes that grow in three steps."""
    check_properties(data, [len(data) // 3, len(data) * 2 // 3])


check_built_files = settings(max_examples=200, deadline=None, database=None, suppress_health_check=list(HealthCheck))(
    given(data=files, places=cuts)(check_properties)
)
"""Check files that the tests' strategies generate."""
