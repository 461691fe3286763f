"""What the spans of a session say was used is what its messages say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.session.build import DATA
from turnlog.session.message_usage import list_billed_requests
from turnlog.session.messages import Message
from turnlog.session.session import Session
from turnlog.session.usage.prices import PricedTokens
from turnlog.trace.session_tail import open_traced_session
from turnlog.trace.spans.span import SessionSignals
from turnlog.trace.spans.span_trees import build_session_traces


def used_by_messages(session: Session) -> PricedTokens:
    """Every message of the session and of its sub-agents once."""
    agents = (session.open_agent_session(agent) for agent in session.agents)
    messages = [message for part in (session, *agents) for message in part.messages]
    once = {message.key: message for message in reversed(messages) if not message.is_synthetic}
    return _sum(request.tokens for message in once.values() for request in list_billed_requests(message))


def used_by_spans(session: Session) -> PricedTokens:
    """What all generations together used."""
    return _sum(_of_spans(session))


def _of_spans(session: Session) -> Iterator[PricedTokens]:
    for trace in build_session_traces(session, SessionSignals(over=True)):
        for node in trace.nodes:
            if node.request is not None:
                yield node.request.tokens
            elif node.answer is not None and not (message := node.answer.message).is_synthetic:
                yield message.tokens or PricedTokens()


def _sum(counts: Iterator[PricedTokens]) -> PricedTokens:
    return PricedTokens(*map(sum, zip(PricedTokens(), *counts, strict=True)))


def goes_on_in_another_turn(session: Session, message: Message) -> bool:
    """Whether a prompt came while the message was being written: its span ends with the turn."""
    return len({session.find_turn(line) is None or id(session.find_turn(line)) for line in message.lines}) > 1


@pytest.mark.parametrize("path", sorted(DATA.glob("*/**/projects/*/????????-*.jsonl")), ids=lambda path: path.stem)
def test_recorded_sessions_agree(path: Path) -> None:
    with open_traced_session(path) as session:
        assert used_by_spans(session) == used_by_messages(session)


@pytest.mark.corpus
def test_all_sessions_of_the_corpus_agree(corpus: Path) -> None:
    wrong = []
    for path in sorted(corpus.rglob("*.jsonl")):
        with open_traced_session(path) as session:
            if any(goes_on_in_another_turn(session, message) for message in session.messages):
                continue
            if used_by_spans(session) != used_by_messages(session):
                wrong.append(path.name)
    assert wrong == []
