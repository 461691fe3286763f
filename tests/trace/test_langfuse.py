"""Langfuse: what it documents of its OTLP endpoint, checked at a recorder in its place, with genuine sessions.

The server itself comes from no package registry. What is checked is its contract (versions 3 and 4): the path, the
keys, the headers, what it needs on every span, the names of its token counts, and that nothing arrives twice.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.session.build import DATA
from tests.trace.recorder import Decoded, Recorder
from turnlog.trace.harvest import HarvestResult, harvest_session
from turnlog.trace.outbox.delivery import DeliveryPace, DeliveryResult, deliver_batches
from turnlog.trace.outbox.outbox import Outbox
from turnlog.trace.spans.span import SessionSignals
from turnlog.trace.targets.target import TraceTarget
from turnlog.trace.targets.targets import list_configured_targets
from turnlog.trace.wire.poster import Poster

pytestmark = pytest.mark.slow

RECORDED = [path for path in sorted(DATA.glob("sessions/*/*/projects/*/????????-*.jsonl")) if path.stat().st_size]
(ONE_HOUR,) = DATA.glob("usage/one-hour-cache/projects/*/*.jsonl")
KINDS = {"agent": ("AGENT", "invoke_agent"), "generation": ("LLM", "chat"), "tool": ("TOOL", "execute_tool")}
# What Langfuse has prices for, beside input and output.
TOKENS = {"input", "output", "input_cached_tokens", "input_cache_creation_5m", "input_cache_creation_1h"}


class Langfuse:
    """A recorder in the place of Langfuse, and the way there."""

    def __init__(self, recorder: Recorder, folder: Path) -> None:
        self.recorder = recorder
        self.outbox = Outbox.open(folder / "outbox.db")
        self._time = 1_000_000.0

    def target(self, **more: str) -> TraceTarget:
        environ = {
            "TRACE_TO_LANGFUSE": "true",
            "LANGFUSE_PUBLIC_KEY": "pk-lf-1",
            "LANGFUSE_SECRET_KEY": "sk-lf-2",
            "LANGFUSE_HOST": self.recorder.url,
        }
        (found,) = list_configured_targets({}, {**environ, **more})
        return found

    def send(self, *paths: Path, **more: str) -> tuple[list[HarvestResult], DeliveryResult]:
        """Export some sessions as if nobody wrote them any more."""
        target = self.target(**more)
        found = [harvest_session(path, self.outbox, target, SessionSignals(over=True)) for path in paths]
        with Poster(target) as poster:
            pace = DeliveryPace(now=self._now, steady=self._now, sleep=self._sleep)
            return found, deliver_batches(self.outbox, poster, patience=10_000, pace=pace)

    def _now(self) -> float:
        return self._time

    def _sleep(self, seconds: float) -> None:
        self._time += seconds


@pytest.fixture
def langfuse(recorder: Recorder, tmp_path: Path) -> Iterator[Langfuse]:
    found = Langfuse(recorder, tmp_path)
    yield found
    found.outbox.close()


@pytest.fixture
def spans(langfuse: Langfuse) -> list[Decoded]:
    """All spans of the recorded sessions."""
    langfuse.send(*RECORDED, ONE_HOUR, LANGFUSE_USER_ID="dana")
    assert len(langfuse.recorder.spans) > 100
    return langfuse.recorder.spans


def details(span: Decoded) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(span["attributes"].get("langfuse.observation.usage_details", "{}"))
    return found


def test_requests_are_what_the_endpoint_wants(langfuse: Langfuse) -> None:
    langfuse.send(RECORDED[0])
    assert langfuse.recorder.requests
    for request in langfuse.recorder.requests:
        assert request.problem is None
        assert request.path == "/api/public/otel/v1/traces"
        assert request.headers["content-type"] == "application/x-protobuf"
        assert request.headers["x-langfuse-ingestion-version"] == "4"
        scheme, _, pair = request.headers["authorization"].partition(" ")
        assert (scheme, b64decode(pair)) == ("Basic", b"pk-lf-1:sk-lf-2")
        assert len({span["trace"] for span in request.spans}) == 1


def test_every_span_says_what_langfuse_groups_and_filters_by(spans: list[Decoded]) -> None:
    for span in spans:
        said = span["attributes"]
        for name in ("session.id", "langfuse.trace.name", "langfuse.trace.metadata.session_id"):
            assert isinstance(said[name], str), name
            assert said[name], name
        assert said["user.id"] == "dana"
        assert said["langfuse.trace.tags"] == ["claude-code"]
        assert said["langfuse.trace.metadata.source"] == "claude-code"
        more = [value for name, value in said.items() if name.startswith("langfuse.trace.metadata.")]
        assert all(isinstance(value, str) for value in more), "only texts can be filtered by"


def test_every_span_is_of_a_type_that_langfuse_knows(spans: list[Decoded]) -> None:
    assert {span["attributes"]["langfuse.observation.type"] for span in spans} == {*KINDS}
    for span in spans:
        said = span["attributes"]
        kinds = said["openinference.span.kind"], said["gen_ai.operation.name"]
        assert kinds == KINDS[said["langfuse.observation.type"]]


def test_input_and_output_are_both_there_on_every_level_that_is_used(spans: list[Decoded]) -> None:
    # Langfuse takes either both or none from a level, so half a level would hide the other half of the next.
    for span in spans:
        assert ("input.value" in span["attributes"]) == ("output.value" in span["attributes"])
        assert not any(name.startswith(("langfuse.observation.input", "llm.")) for name in span["attributes"])


def test_tokens_have_the_names_that_langfuse_has_prices_for(spans: list[Decoded]) -> None:
    generations = [span for span in spans if details(span)]
    assert len(generations) > 20
    for span in generations:
        told, said = details(span), span["attributes"]
        assert {*told} <= TOKENS
        assert all(type(count) is int and count >= 0 for count in told.values())
        assert sum(told.values()) - told["output"] == said["gen_ai.usage.input_tokens"]
        assert told["output"] == said["gen_ai.usage.output_tokens"]
        assert said["gen_ai.request.model"]


def test_cache_writes_of_an_hour_are_told_apart_from_those_of_five_minutes(langfuse: Langfuse) -> None:
    langfuse.send(ONE_HOUR)
    told = [details(span) for span in langfuse.recorder.spans if details(span)]
    rest = {"input": 5, "output": 80}
    assert sorted(told, key=str) == [
        {**rest, "input_cache_creation_1h": 10_000},
        {**rest, "input_cache_creation_5m": 10_000},  # an old client did not say for how long
        {**rest, "input_cache_creation_5m": 6_000, "input_cache_creation_1h": 4_000},
    ]


def test_only_generations_have_tokens_and_a_model(spans: list[Decoded]) -> None:
    for span in spans:
        if span["attributes"]["langfuse.observation.type"] != "generation":
            assert not any(name.startswith("gen_ai.usage.") for name in span["attributes"])
            assert "gen_ai.request.model" not in span["attributes"]
            assert not details(span)


def test_what_failed_is_of_the_level_error_and_says_why(spans: list[Decoded]) -> None:
    failed = [span for span in spans if span["status"]]
    assert {span["attributes"]["langfuse.observation.type"] for span in failed} >= {"tool", "generation"}
    for span in failed:
        assert span["status"] == 2
        assert span["message"]
        assert span["attributes"]["error.type"]
    assert not any("error.type" in span["attributes"] for span in spans if not span["status"])


def test_every_trace_has_one_root_and_every_other_span_a_parent_in_it(spans: list[Decoded]) -> None:
    traces: dict[str, list[Decoded]] = {}
    for span in spans:
        traces.setdefault(span["trace"], []).append(span)
    for found in traces.values():
        ids = {span["span"] for span in found}
        (root,) = (span for span in found if span["parent"] is None)
        assert root["attributes"]["langfuse.observation.type"] == "agent"
        assert all(span["parent"] in ids for span in found if span is not root)


def test_times_are_in_order(spans: list[Decoded]) -> None:
    assert all(0 < span["start"] <= span["end"] for span in spans)


def test_no_acknowledged_span_is_delivered_again(langfuse: Langfuse) -> None:
    first, delivered = langfuse.send(*RECORDED)
    assert sum(each.put for each in first) == delivered.spans == len(langfuse.recorder.spans)
    requests = len(langfuse.recorder.requests)
    again, nothing = langfuse.send(*RECORDED)
    assert (sum(each.put for each in again), nothing.spans) == (0, 0)
    assert len(langfuse.recorder.requests) == requests
    assert langfuse.recorder.repeats == 0


def test_a_server_that_fails_now_and_then_gets_everything_once(langfuse: Langfuse) -> None:
    langfuse.recorder.answers += [503, 200, "cut", 200, ("retry-after", 60), 429, 500]
    _, delivered = langfuse.send(*RECORDED[:8])
    assert (delivered.spans, delivered.left) == (len(langfuse.recorder.spans), False)
    assert langfuse.recorder.repeats == 0


def test_what_arrives_again_because_the_answer_was_lost_is_the_same_to_the_byte(langfuse: Langfuse) -> None:
    langfuse.recorder.answers += ["lost"]
    langfuse.send(*RECORDED[:4])
    first, second = langfuse.recorder.requests[:2]
    assert first.body == second.body
    assert langfuse.recorder.repeats == len(first.spans)
    assert langfuse.recorder.changed_spans == []


def test_a_request_that_is_too_large_arrives_in_parts(langfuse: Langfuse) -> None:
    largest = max(RECORDED, key=lambda path: path.stat().st_size)
    langfuse.recorder.answers += [413, 413]
    _, delivered = langfuse.send(largest)
    assert delivered.refused == 0
    assert delivered.spans == len(langfuse.recorder.spans)
    assert langfuse.recorder.repeats == 0
