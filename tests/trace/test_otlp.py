"""OTLP: what is encoded by hand is what the official library reads, and nothing is lost in splitting."""

from __future__ import annotations

import gzip
import json
import math
import random
from contextlib import suppress
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.trace.recorder import Decoded, Received, decode_body
from turnlog.trace.spans.span import AttributeValue, Span, SpanKind
from turnlog.trace.wire.batch import SpanBatch
from turnlog.trace.wire.otlp import (
    build_span_batches,
    compress_body,
    decompress_body,
    encode_request,
    halve_batch,
    to_readable_spans,
)
from turnlog.trace.wire.protobuf import encode_wire_text, iter_wire_fields

TRACE, OTHER = bytes(range(16)), bytes(range(1, 17))
MOST = (1 << 63) - 1


def span(number: int = 1, size: int = 0, trace: bytes = TRACE, **fields: Any) -> Span:
    """A span whose values the test does not care for."""
    own = {
        "parent": None,
        "kind": "tool",
        "name": f"span {number}",
        "start": 1,
        "end": 2,
        "attributes": {"a": "x" * size},
    }
    return Span(trace=trace, id=number.to_bytes(8, "big"), **{**own, **fields})


def read(body: bytes) -> Received:
    found = decode_body(body)
    assert found.problem is None
    return found


def one(**fields: Any) -> Decoded:
    (found,) = read(encode_request([span(**fields)])).spans
    return found


def test_a_span_is_read_as_it_was_meant() -> None:
    made = span(
        0x3132333435363738,
        parent=b"abcdefgh",
        kind="generation",
        name="chat opus",
        start=1_772_359_200_123_456_789,
        end=1_772_359_201_000_000_000,
        attributes={
            "text": "Grüße",
            "count": 7,
            "share": 0.5,
            "yes": True,
            "no": False,
            "tags": ["a"],
            "none": [],
            "": "",
        },
        error="overloaded",
    )
    found = read(encode_request([made], "1.2.3"))
    assert (found.resource, found.scope, found.spans) == snapshot(
        (
            {
                "service.name": "claude-code",
                "telemetry.sdk.name": "turnlog",
                "telemetry.sdk.language": "python",
                "telemetry.sdk.version": "1.2.3",
            },
            ("turnlog", "1.2.3"),
            [
                {
                    "trace": "000102030405060708090a0b0c0d0e0f",
                    "span": "3132333435363738",
                    "parent": "6162636465666768",
                    "name": "chat opus",
                    "kind": 3,
                    "start": 1772359200123456789,
                    "end": 1772359201000000000,
                    "status": 2,
                    "message": "overloaded",
                    "attributes": {
                        "text": "Grüße",
                        "count": 7,
                        "share": 0.5,
                        "yes": True,
                        "no": False,
                        "tags": ["a"],
                        "none": [],
                        "": "",
                    },
                }
            ],
        )
    )


@pytest.mark.parametrize(("kind", "number"), [("agent", 1), ("tool", 1), ("generation", 3)])
def test_requests_to_the_model_are_of_the_kind_client_and_the_rest_internal(kind: SpanKind, number: int) -> None:
    assert one(kind=kind)["kind"] == number
    assert kind in get_args(SpanKind)


def test_a_span_that_did_not_fail_has_no_status() -> None:
    assert (one()["status"], one(error="")["status"]) == (0, 2)


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, -1, -300, MOST, -MOST - 1])
def test_every_number_of_64_bits_arrives(number: int) -> None:
    assert one(attributes={"n": number})["attributes"] == {"n": number}


def test_yes_and_no_are_no_numbers() -> None:
    assert [type(value) for value in one(attributes={"yes": True, "one": 1, "half": 1.0})["attributes"].values()] == [
        bool,
        int,
        float,
    ]


@pytest.mark.parametrize(("given", "sent"), [(MOST + 1, MOST), (10**400, MOST), (-(10**400), -MOST - 1)])
def test_a_number_beyond_64_bits_is_held_at_their_end(given: int, sent: int) -> None:
    assert one(attributes={"n": given})["attributes"] == {"n": sent}


@pytest.mark.parametrize("number", [0.0, -1.5, 1e308, math.inf])
def test_every_fraction_arrives(number: float) -> None:
    assert one(attributes={"n": number})["attributes"] == {"n": number}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("\ud83d", "\ufffd"),
        ("a\udc00b", "a\ufffdb"),
        ("\ud83d\ude00", "😀"),
        ("a\0b", "a\u2400b"),
        ("\x1b[0m\u202e", "\x1b[0m\u202e"),
    ],
)
def test_texts_that_no_backend_takes_are_mended_wherever_they_stand(given: str, sent: str) -> None:
    found = one(name=given, error=given, attributes={given: given, "list": [given]})
    assert (found["name"], found["message"], found["attributes"]) == (sent, sent, {sent: sent, "list": [sent]})


@pytest.mark.parametrize(("start", "end", "sent"), [(-5, 10**30, (0, MOST)), (0, 0, (0, 0))])
def test_times_beyond_what_can_be_written_are_held(start: int, end: int, sent: tuple[int, int]) -> None:
    found = one(start=start, end=end)
    assert (found["start"], found["end"]) == sent


VALUES: st.SearchStrategy[AttributeValue] = st.one_of(
    st.text(), st.integers(), st.floats(allow_nan=False), st.booleans(), st.lists(st.text(), max_size=3)
)
ANY = st.text(st.characters(), min_size=1, max_size=40)  # with surrogates
SPANS = st.builds(
    Span,
    trace=st.just(TRACE),
    id=st.binary(min_size=8, max_size=8),
    parent=st.none() | st.binary(min_size=8, max_size=8),
    kind=st.sampled_from(get_args(SpanKind)),
    name=ANY,
    start=st.integers(1, MOST),
    end=st.integers(1, MOST),
    attributes=st.dictionaries(st.text(min_size=1, max_size=20), VALUES, max_size=5),
    error=st.none() | ANY,
    shared=st.just({}),
)


@given(SPANS)
def test_the_official_library_writes_what_it_read_in_the_same_bytes(made: Span) -> None:
    body = encode_request([made])
    assert ExportTraceServiceRequest.FromString(body).SerializeToString() == body


@given(st.lists(SPANS, min_size=1, max_size=4), st.dictionaries(st.text(min_size=1, max_size=20), VALUES, max_size=5))
def test_what_spans_share_is_written_as_if_each_had_it_for_itself(
    made: list[Span], shared: dict[str, AttributeValue]
) -> None:
    each = [one._replace(attributes={**shared, **one.attributes}) for one in made]
    together = [one._replace(shared=shared) for one in each]
    assert encode_request(together) == encode_request(each)
    assert encode_request([*each, *together]) == encode_request([*together, *each]) == encode_request([*each, *each])


def test_the_same_spans_give_the_same_bytes() -> None:
    spans = [span(number, 300) for number in range(9)]
    assert build_span_batches(spans) == build_span_batches(spans)
    body = compress_body(encode_request(spans))
    assert gzip.decompress(body) == decompress_body(body) == encode_request(spans)
    assert body[4:8] == bytes(4), "a clock's time stands in the header"


def test_what_need_not_be_small_is_the_same_request_in_the_same_form() -> None:
    spans = [span(number, 300) for number in range(9)]
    (large,), (small,) = build_span_batches(spans, small=False), build_span_batches(spans)
    assert gzip.decompress(large.body) == decompress_body(large.body) == decompress_body(small.body)
    assert len(large.body) > len(encode_request(spans)) > len(small.body)
    assert large == build_span_batches(spans, small=False)[0]


def test_a_batch_holds_what_fits_and_every_span_once_in_order() -> None:
    spans = [span(number, 400) for number in range(25)]
    found = build_span_batches(spans, largest=2000)
    assert len(found) > 5
    assert [id_ for batch in found for id_ in batch.spans] == [each.id for each in spans]
    assert all(len(decompress_body(batch.body)) <= 2000 for batch in found)
    assert [each for batch in found for each in ids(batch)] == [each.id.hex() for each in spans]


def test_a_span_that_is_larger_than_a_batch_goes_alone() -> None:
    found = build_span_batches([span(1, 10), span(2, 5000), span(3, 10)], largest=2000)
    assert [len(batch.spans) for batch in found] == [1, 1, 1]


def test_a_batch_holds_spans_of_one_trace() -> None:
    found = build_span_batches([span(1), span(2), span(3, trace=OTHER)])
    assert [(batch.trace, len(batch.spans)) for batch in found] == [(TRACE, 2), (OTHER, 1)]


def test_of_a_span_that_is_given_twice_the_first_is_sent() -> None:
    (batch,) = build_span_batches([span(1, name="first"), span(2), span(1, name="second")])
    assert [each["name"] for each in read(decompress_body(batch.body)).spans] == ["first", "span 2"]


def test_no_spans_give_no_batch() -> None:
    assert build_span_batches([]) == []


def ids(batch: SpanBatch) -> list[str]:
    return [each["span"] for each in read(decompress_body(batch.body)).spans]


@given(st.lists(st.integers(0, 3000), min_size=2, max_size=20))
def test_two_halves_are_the_whole_and_neither_is_empty(sizes: list[int]) -> None:
    (whole,) = build_span_batches([span(number, size) for number, size in enumerate(sizes)])
    found = halve_batch(whole)
    assert found is not None
    one, two = found
    assert one.spans
    assert two.spans
    assert one.spans + two.spans == whole.spans
    assert one.trace == two.trace == whole.trace
    before, *after = (read(decompress_body(batch.body)) for batch in (whole, one, two))
    assert after[0].spans + after[1].spans == before.spans
    assert all((part.resource, part.scope) == (before.resource, before.scope) for part in after)


def test_halves_of_halves_are_what_would_have_been_sent_alone() -> None:
    spans = [span(number, 100) for number in range(4)]
    left = build_span_batches(spans)
    alone = []
    while left:
        batch = left.pop(0)
        if (found := halve_batch(batch)) is None:
            alone.append(batch)
        else:
            left = [*found, *left]
    assert alone == [batch for each in spans for batch in build_span_batches([each])]


def test_halves_are_about_the_same_size() -> None:
    (whole,) = build_span_batches([span(1, 9000), *(span(number, 100) for number in range(2, 20))])
    found = halve_batch(whole)
    assert found is not None
    assert len(found[0].spans) == 1


def test_a_batch_of_one_span_has_no_halves() -> None:
    (batch,) = build_span_batches([span()])
    assert halve_batch(batch) is None


def test_spans_can_be_read_by_people() -> None:
    made = span(
        7, parent=b"abcdefgh", start=1_772_359_200_000_000_001, attributes={"half": "\ud83d", "n": 10**30, "l": ["a"]}
    )
    found = to_readable_spans([made, span(8, error="broken", start=10**30)])
    assert json.loads(json.dumps(found)) == snapshot(
        [
            {
                "trace": "000102030405060708090a0b0c0d0e0f",
                "span": "0000000000000007",
                "parent": "6162636465666768",
                "kind": "tool",
                "name": "span 7",
                "start": "2026-03-01T10:00:00.000000001Z",
                "end": "1970-01-01T00:00:00.000000002Z",
                "error": None,
                "attributes": {"half": "\ufffd", "n": 9223372036854775807, "l": ["a"]},
            },
            {
                "trace": "000102030405060708090a0b0c0d0e0f",
                "span": "0000000000000008",
                "parent": None,
                "kind": "tool",
                "name": "span 8",
                "start": "2262-04-11T23:47:16.854775807Z",
                "end": "1970-01-01T00:00:00.000000002Z",
                "error": "broken",
                "attributes": {"a": ""},
            },
        ]
    )


@given(st.binary(max_size=60))
def test_bytes_of_a_stranger_are_read_or_refused_and_never_end_in_anything_else(raw: bytes) -> None:
    with suppress(ValueError):
        assert all(number >= 0 for number, _ in iter_wire_fields(raw))


def test_a_message_that_is_cut_anywhere_within_a_field_is_refused() -> None:
    body = encode_request([span(1, 200)])
    rng = random.Random(1)
    for cut in rng.sample(range(3, len(body)), 50):
        with pytest.raises(ValueError, match="the message ends within"):
            list(iter_wire_fields(body[:cut]))


def test_plain_text_is_sent_as_it_is() -> None:
    assert encode_wire_text("näh") == "näh".encode()
