"""The scripted model, and patience with it."""

from __future__ import annotations

from itertools import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.model.answer import ModelAnswer, fold_events
from turnlog.model.cancel import Cancel
from turnlog.model.events import RetryStarted
from turnlog.model.failures import AnswerBrokenOff, ModelError, RequestCancelled, RequestRejected, ServerBusy
from turnlog.model.metered_model import MeteredModel
from turnlog.model.request import build_prompt_request
from turnlog.model.retries import RetryingModel, RetryPolicy
from turnlog.model.scripted_model import CutAnswer, DelayedStep, ScriptedModel, list_answer_events

ASK = build_prompt_request("m", "x")
BLOCK = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, st.text()),
    st.builds(lambda text, sig: {"type": "thinking", "thinking": text, "signature": sig}, st.text(), st.text()),
    st.builds(
        lambda given: {"type": "tool_use", "id": "t", "name": "n", "input": given},
        st.dictionaries(st.text(), st.one_of(st.none(), st.integers(-9, 9), st.text(), st.lists(st.booleans()))),
    ),
    st.just({"type": "redacted_thinking", "data": "x"}),
)


@given(st.lists(BLOCK), st.sampled_from(["end_turn", "tool_use", "max_tokens"]))
def test_an_answer_survives_being_streamed(blocks: list[dict[str, object]], reason: str) -> None:
    answer = ModelAnswer(tuple(blocks), reason, {"output_tokens": 4}, "id", "m", None, "r")
    assert fold_events(list_answer_events(answer)) == answer
    assert answer.is_cut == (reason == "max_tokens")


def test_steps_are_taken_in_order_and_requests_are_kept() -> None:
    model = ScriptedModel(
        ["a", RequestRejected("no"), lambda request: request.model + "!", DelayedStep(0.01, "b")], then="more"
    )
    assert model.complete(ASK).text == "a"
    with pytest.raises(RequestRejected, match="no"):
        model.complete(ASK)
    assert [model.complete(ASK).text for _ in range(4)] == ["m!", "b", "more", "more"]
    assert len(model.requests) == 6
    assert model.count_tokens(ASK) > 1


def test_a_script_that_is_over_rejects() -> None:
    with pytest.raises(RequestRejected, match="no answer to request 1"):
        ScriptedModel().complete(ASK)


def test_patience_begins_an_answer_anew() -> None:
    model = RetryingModel(
        ScriptedModel([CutAnswer("first try", 3), ServerBusy("full"), "second"]), RetryPolicy(first=0.001)
    )
    found = list(model.stream(ASK))
    assert [event.reason for event in found if isinstance(event, RetryStarted)][1] == "full"
    assert fold_events(found).text == "second"


def test_a_cut_answer_without_patience_raises() -> None:
    with pytest.raises(AnswerBrokenOff):
        ScriptedModel([CutAnswer("text")]).complete(ASK)
    with pytest.raises(AnswerBrokenOff, match="ended early"):
        fold_events([])


def test_a_late_answer_can_be_cancelled() -> None:
    cancel = Cancel()
    cancel.set()
    with pytest.raises(RequestCancelled):
        ScriptedModel([DelayedStep(3600, "x")]).complete(ASK, cancel)


@given(st.integers(1, 60), st.floats(0, 1), st.one_of(st.none(), st.floats(0, 500)))
def test_pauses_grow_and_stay_within_bounds(failed: int, chance: float, wanted: float | None) -> None:
    patience = RetryPolicy(attempts=50)
    pause = patience.compute_pause(failed, ServerBusy("x", retry_after=wanted), lambda: chance)
    if failed >= 50 or (wanted is not None and wanted > patience.waits_for_server):
        assert pause is None
    else:
        assert pause is not None
        assert 0.3 <= pause <= max(40, wanted or 0)
        assert pause >= (wanted or 0)


@pytest.mark.parametrize("error", [RequestRejected("x"), RequestCancelled("x"), ModelError("x")])
def test_what_does_not_pass_is_not_waited_for(error: ModelError) -> None:
    assert RetryPolicy().compute_pause(1, error, lambda: 0.5) is None


def test_a_meter_counts_whole_answers() -> None:
    usage = {"input_tokens": 3, "output_tokens": 5, "service_tier": "x", "cache_creation": {"a": 1}, "odd": True}
    answer = ModelAnswer((), usage=usage)
    meter = MeteredModel(RetryingModel(ScriptedModel([CutAnswer("x"), answer, answer]), RetryPolicy(first=0.001)))
    meter.complete(ASK)
    meter.complete(ASK)
    assert (meter.answers, meter.used_tokens) == (2, {"input_tokens": 6, "output_tokens": 10})
    assert meter.count_tokens(ASK) > 0


def test_patience_ends() -> None:
    script = ScriptedModel(repeat(ServerBusy("full")))
    with pytest.raises(ServerBusy):
        RetryingModel(script, RetryPolicy(attempts=3, first=0.001)).complete(ASK)
    assert len(script.requests) == 3
