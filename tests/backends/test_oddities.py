"""What docs/trace.md says of the servers themselves; where a new version does otherwise, the page has to say so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.backends import turn
from tests.backends.exports import caught_up
from tests.backends.seen_spans import Backend
from turnlog.trace.spans.span import Span
from turnlog.trace.targets.target import TraceTarget
from turnlog.trace.wire.otlp import build_span_batches
from turnlog.trace.wire.poster import PostAccepted, Poster, PostRefused, PostVerdict

pytestmark = pytest.mark.backends


def post_spans(target: TraceTarget, *spans: Span) -> PostVerdict:
    (batch,) = build_span_batches(spans)
    with Poster(target) as poster:
        return poster.post(batch.body)


def span(key: bytes) -> Span:
    """A root span of its own."""
    return turn.spans()[0]._replace(trace=key * 4, id=key * 2, attributes={"openinference.span.kind": "AGENT"})


def test_phoenix_has_a_span_in_the_first_project_it_came_to(backends: dict[str, Backend]) -> None:
    phoenix = backends["phoenix"]
    found = span(b"odd1")
    assert post_spans(phoenix.target("one"), found) == PostAccepted()
    caught_up(phoenix, "the first project has it")
    assert post_spans(phoenix.target("two"), found) == PostAccepted()
    caught_up(phoenix, "the second project had its turn")
    assert phoenix.list_span_ids("one") == [found.id.hex()]
    assert phoenix.list_span_ids("two") == []


@pytest.mark.parametrize(("name", "stays"), [("phoenix", "first"), ("mlflow", "last")])
def test_of_a_span_that_comes_again_one_form_stays(backends: dict[str, Backend], name: str, stays: str) -> None:
    backend, key = backends[name], b"odd2"
    for form in ("first", "last"):
        assert post_spans(backend.target("forms"), span(key)._replace(name=form)) == PostAccepted()
        caught_up(backend, f"the {form} form came")
    found = backend.trace("forms", (key * 4).hex())
    assert found is not None
    assert [seen.name for seen in found.spans.values()] == [stays]


def test_mlflow_refuses_what_names_no_experiment(backends: dict[str, Backend]) -> None:
    target = replace(backends["mlflow"].target("any"), headers={})
    assert isinstance(post_spans(target, span(b"odd3")), PostRefused)
