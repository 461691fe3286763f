"""A turn whose tokens, times and costs are known, sent to real backends: they understand what we send as we mean it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.backends import turn
from tests.backends.exports import caught_up
from tests.backends.seen_spans import Backend, SeenTrace, Tokens, as_sent, wait_for_spans
from turnlog.trace.spans.span import Span
from turnlog.trace.wire.otlp import build_span_batches
from turnlog.trace.wire.poster import PostAccepted, Poster

pytestmark = pytest.mark.backends

PROJECT = "hand made"


def send(backend: Backend, project: str, spans: Iterable[Span]) -> None:
    """Post spans, and see that all of them are taken."""
    with Poster(backend.target(project)) as poster:
        assert [poster.post(batch.body) for batch in build_span_batches(spans)] == [PostAccepted()]


@pytest.fixture
def hand_made_trace(backend: Backend) -> SeenTrace:
    """The turn as the backend has it; sent by whichever test comes first, and again by all others."""
    send(backend, PROJECT, turn.spans())
    assert sorted(wait_for_spans(backend, PROJECT, 9)) == sorted(span.id.hex() for span in turn.spans())
    found = backend.trace(PROJECT, turn.TRACE.hex())
    assert found is not None
    return found


def test_it_shows_the_tree_with_what_failed(hand_made_trace: SeenTrace) -> None:
    assert hand_made_trace.tree == [
        "invoke_agent claude-code",
        "  chat claude-opus-5-5",
        "  execute_tool Bash !",
        "  execute_tool Task",
        "    invoke_agent Explore",
        "      chat claude-haiku-4-5-20251001",
        "      execute_tool Grep",
        "      chat claude-haiku-4-5-20251001",
        "  chat claude-opus-5-5",
    ]


def test_it_has_every_span_as_it_was_sent(hand_made_trace: SeenTrace) -> None:
    """Kinds, parents, times to the nanosecond, errors with their words, tokens."""
    assert {key: span._replace(cost=None, input=None, output=None) for key, span in hand_made_trace.spans.items()} == {
        span.id.hex(): as_sent(span) for span in turn.spans()
    }


def test_a_turn_of_the_past_stays_in_the_past(hand_made_trace: SeenTrace) -> None:
    assert (hand_made_trace.start, hand_made_trace.end) == (turn.moment(0), turn.moment(41.5))


def test_it_adds_up_the_tokens_of_the_turn(hand_made_trace: SeenTrace) -> None:
    assert (hand_made_trace.tokens.input, hand_made_trace.tokens.output) == (43_820, 390)
    assert hand_made_trace.spans[turn.FIRST.hex()].tokens == Tokens(18_962, 210, 18_000, 950)


def test_it_knows_session_and_user(backend: Backend, hand_made_trace: SeenTrace) -> None:
    assert (hand_made_trace.session, hand_made_trace.user) == (turn.SESSION, turn.USER)
    assert backend.session(PROJECT, turn.SESSION) == {turn.TRACE.hex()}


def test_it_works_out_the_list_price(backend: Backend, hand_made_trace: SeenTrace) -> None:
    """Phoenix has no price for what is written into the one-hour cache, and takes the five-minute one."""
    less = turn.LESS if backend.name == "phoenix" else 0.0
    assert hand_made_trace.cost == pytest.approx(turn.COST - less, abs=1e-12)
    assert hand_made_trace.spans[turn.FIRST.hex()].cost == pytest.approx(turn.FIRST_COST - less, abs=1e-12)
    assert hand_made_trace.spans[turn.LAST.hex()].cost == pytest.approx(turn.LAST_COST, abs=1e-12)


def test_it_shows_what_was_asked_thought_and_answered(hand_made_trace: SeenTrace) -> None:
    root, first, last = (hand_made_trace.spans[key.hex()] for key in (turn.ROOT, turn.FIRST, turn.LAST))
    assert (root.input, root.output) == (turn.PROMPT, turn.ANSWER)
    assert first.input == [turn.PROMPT]
    assert first.output == [turn.THOUGHT, "Bash", "Task"]
    assert last.output == [turn.ANSWER]


def test_it_shows_what_a_call_was_given_and_brought(hand_made_trace: SeenTrace) -> None:
    bash = hand_made_trace.spans[turn.BASH.hex()]
    assert (bash.input, bash.output) == ({"command": "pytest -q"}, "1 failed, 3 passed")


def test_the_same_spans_again_change_nothing(backend: Backend, hand_made_trace: SeenTrace) -> None:
    send(backend, PROJECT, turn.spans())
    caught_up(backend, "the turn came twice")
    assert backend.trace(PROJECT, turn.TRACE.hex()) == hand_made_trace
    assert len(backend.list_span_ids(PROJECT)) == 9


@pytest.mark.parametrize("root_first", [True, False], ids=["root first", "root last"])
def test_a_trace_may_come_in_parts(backend: Backend, root_first: bool) -> None:
    """Spans are sent when they are final, so a root may follow its children, or children follow their root."""
    project = f"in parts, {root_first}"
    salt = b"first" if root_first else b"last "
    spans = [rename_span(span, salt) for span in turn.spans()]
    for span in spans if root_first else reversed(spans):
        send(backend, project, [span])
    wait_for_spans(backend, project, 9)
    found = backend.trace(project, spans[0].trace.hex())
    assert found is not None
    assert len(found.tree) == 9
    assert (found.tokens.input, found.tokens.output) == (43_820, 390)
    assert found.cost == pytest.approx(turn.COST - (turn.LESS if backend.name == "phoenix" else 0), abs=1e-12)


def rename_span(span: Span, salt: bytes) -> Span:
    """The same span in a trace of its own: Phoenix knows a span id once, in whatever trace it stands."""

    def other(key: bytes) -> bytes:
        return bytes(left ^ right for left, right in zip(key, salt.ljust(len(key)), strict=True))

    return span._replace(trace=other(span.trace), id=other(span.id), parent=other(span.parent) if span.parent else None)
