"""Recorded sessions of every client version, sent to real backends and read back: what they show is what happened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backends.exports import OVER, Export, apart, caught_up, export_sessions, messages, read_back, sessions
from tests.backends.seen_spans import Backend, Tokens, as_sent, nanoseconds
from turnlog.session.messages import Message
from turnlog.session.session import Session
from turnlog.session.usage.prices import PricedTokens as Counted
from turnlog.session.usage.prices import compute_cost
from turnlog.trace.harvest import harvest_session
from turnlog.trace.outbox.delivery import deliver_batches
from turnlog.trace.outbox.outbox import Outbox
from turnlog.trace.spans import ids
from turnlog.trace.wire.poster import Poster

pytestmark = pytest.mark.backends

PROJECT = "lab"
# Models that recorded sessions have and a backend no price for: this one is retired.
UNPRICED = {"phoenix": {"claude-sonnet-4-20250514"}, "mlflow": set[str]()}
NONE = Counted()
PATHS = sessions()
APART = apart(PATHS)


@pytest.fixture(scope="module", params=["phoenix", "mlflow"])
def outbox(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Outbox]]:
    """The name of a backend, and what holds the spans that go there."""
    with Outbox.open(tmp_path_factory.mktemp("outbox") / "outbox.db") as found:
        yield request.param, found


@pytest.fixture(scope="module")
def export(outbox: tuple[str, Outbox], backends: dict[str, Backend]) -> Export:
    """All recorded sessions, sent."""
    name, box = outbox
    return export_sessions(backends[name], PROJECT, box, PATHS)


def test_every_span_is_there_once_and_as_it_was_sent(export: Export) -> None:
    """Kinds, parents, times, errors and tokens."""
    assert len(export.sent) > 400
    assert sorted(export.backend.list_span_ids(PROJECT)) == sorted(export.sent)
    seen = {key: span for trace in export.traces.values() for key, span in trace.spans.items()}
    assert {key: span._replace(cost=None, input=None, output=None) for key, span in seen.items()} == {
        key: as_sent(span) for key, span in export.sent.items()
    }


def test_a_turn_with_sub_agents_is_one_tree(export: Export) -> None:
    (path,) = sessions("2.1.325/agents")
    with Session.open(path) as session:
        trace = export.traces[ids.build_trace_id(session.turns[0].start.uuid or "").hex()]
    assert trace.tree == [
        "invoke_agent claude-code",
        "  chat claude-opus-5-5",
        "  execute_tool Task",
        "    invoke_agent general-purpose",
        "      chat claude-opus-5-5",
        "      execute_tool Bash",
        "      chat claude-opus-5-5",
        "  execute_tool Task",
        "    invoke_agent Explore",
        "      chat claude-opus-5-5",
        "      execute_tool Read",
        "      chat claude-opus-5-5",
        "  chat claude-opus-5-5",
    ]


def test_every_trace_hangs_together(export: Export) -> None:
    for trace in export.traces.values():
        assert len(trace.tree) == len(trace.spans)
        assert [span.parent for span in trace.spans.values()].count(None) == 1


def test_a_session_is_shown_with_all_its_turns(export: Export) -> None:
    for path in APART:
        with Session.open(path) as session:
            name = session.session_id or ""
        own = {span.trace.hex() for span in export.sent.values() if span.attributes["session.id"] == name}
        assert export.backend.session(PROJECT, name) == own
        assert {export.traces[trace].session for trace in own} <= {name}


def test_calls_have_their_own_times(export: Export) -> None:
    seen = {key: span for trace in export.traces.values() for key, span in trace.spans.items()}
    for path in APART:
        with Session.open(path) as session:
            for call in session.calls:
                if call.started_at and call.ended_at:
                    span = seen[ids.build_tool_span_id(call.id).hex()]
                    assert (span.start, span.end) == (nanoseconds(call.started_at), nanoseconds(call.ended_at))


def test_calls_that_failed_are_shown_as_errors(export: Export) -> None:
    seen = {key: span for trace in export.traces.values() for key, span in trace.spans.items()}
    failed = []
    for path in APART:
        with Session.open(path) as session:
            failed += [seen[ids.build_tool_span_id(call.id).hex()].error for call in session.calls if call.is_error]
    assert len(failed) > 20
    assert all(failed)


def test_the_tokens_of_a_session_are_those_that_turnlog_counts(export: Export) -> None:
    for path in APART:
        with Session.open(path) as session:
            traces = [export.traces[name] for name in export.backend.session(PROJECT, session.session_id or "")]
        counted = [trace.tokens for trace in traces]
        expected = [as_backends_count(message) for message in messages([path])]
        assert sum(found.input for found in counted) == sum(found.input for found in expected), path
        assert sum(found.output for found in counted) == sum(found.output for found in expected), path


def as_backends_count(message: Message) -> Tokens:
    """The tokens of a message, with what was cached as a part of the input."""
    if message.tokens is None:
        return Tokens()
    counted = message.tokens
    written = counted.cache_write_5m + counted.cache_write_1h
    return Tokens(counted.input + counted.cache_read + written, counted.output, counted.cache_read, written)


def test_the_cost_of_every_answer_is_the_list_price(export: Export) -> None:
    seen = {key: span for trace in export.traces.values() for key, span in trace.spans.items()}
    priced = [message for message in messages(PATHS) if dollars(message)]
    assert len(priced) > 200
    for message in priced:
        expected = (
            None if message.model in UNPRICED[export.backend.name] else pytest.approx(dollars(message), abs=1e-12)
        )
        assert seen[ids.build_generation_span_id(message.key).hex()].cost == expected, message.model
    known = (message for message in priced if message.model not in UNPRICED[export.backend.name])
    assert sum(trace.cost or 0 for trace in export.traces.values()) == pytest.approx(sum(map(dollars, known)), abs=1e-9)


def dollars(message: Message) -> float:
    """What a message costs by our own table."""
    return compute_cost(message.model, message.tokens or NONE, at=message.started_at).usd or 0.0


def test_sending_the_sessions_again_sends_nothing(export: Export, outbox: tuple[str, Outbox]) -> None:
    target = export.backend.target(PROJECT)
    assert sum(harvest_session(path, outbox[1], target, OVER).put for path in PATHS) == 0
    with Poster(target) as poster:
        assert deliver_batches(outbox[1], poster).batches == 0


def test_sending_them_from_another_machine_changes_nothing(export: Export, tmp_path: Path) -> None:
    """Another outbox knows nothing of the first one; the ids and times of the spans are the same all the same."""
    with Outbox.open(tmp_path / "outbox.db") as other:
        again = export_sessions(export.backend, PROJECT, other, PATHS)
    assert again.sent == export.sent
    caught_up(export.backend, "the sessions came twice")
    assert read_back(export.backend, PROJECT, export.sent.values()) == export.traces
    assert len(export.backend.list_span_ids(PROJECT)) == len(export.sent)
