"""The scripted model, and patience with it."""

from __future__ import annotations

from itertools import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.model.answer import Answer, fold
from turnlog.model.cancel import Cancel
from turnlog.model.events import Retrying
from turnlog.model.failures import BrokenOff, Busied, Cancelled, ModelError, Rejected
from turnlog.model.metered import Metered
from turnlog.model.patient import Patience, Patient
from turnlog.model.request import ask
from turnlog.model.scripted import Cut, Late, Scripted, events

ASK = ask("m", "x")
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
    answer = Answer(tuple(blocks), reason, {"output_tokens": 4}, "id", "m", None, "r")
    assert fold(events(answer)) == answer
    assert answer.is_cut == (reason == "max_tokens")


def test_steps_are_taken_in_order_and_requests_are_kept() -> None:
    model = Scripted(["a", Rejected("no"), lambda request: request.model + "!", Late(0.01, "b")], then="more")
    assert model.complete(ASK).text == "a"
    with pytest.raises(Rejected, match="no"):
        model.complete(ASK)
    assert [model.complete(ASK).text for _ in range(4)] == ["m!", "b", "more", "more"]
    assert len(model.requests) == 6
    assert model.count_tokens(ASK) > 1


def test_a_script_that_is_over_rejects() -> None:
    with pytest.raises(Rejected, match="no answer to request 1"):
        Scripted().complete(ASK)


def test_patience_begins_an_answer_anew() -> None:
    model = Patient(Scripted([Cut("first try", 3), Busied("full"), "second"]), Patience(first=0.001))
    found = list(model.stream(ASK))
    assert [event.reason for event in found if isinstance(event, Retrying)][1] == "full"
    assert fold(found).text == "second"


def test_a_cut_answer_without_patience_raises() -> None:
    with pytest.raises(BrokenOff):
        Scripted([Cut("text")]).complete(ASK)
    with pytest.raises(BrokenOff, match="before its end"):
        fold([])


def test_a_late_answer_can_be_cancelled() -> None:
    cancel = Cancel()
    cancel.set()
    with pytest.raises(Cancelled):
        Scripted([Late(3600, "x")]).complete(ASK, cancel)


@given(st.integers(1, 60), st.floats(0, 1), st.one_of(st.none(), st.floats(0, 500)))
def test_pauses_grow_and_stay_within_bounds(failed: int, chance: float, wanted: float | None) -> None:
    patience = Patience(attempts=50)
    pause = patience.pause(failed, Busied("x", retry_after=wanted), lambda: chance)
    if failed >= 50 or (wanted is not None and wanted > patience.waits_for_server):
        assert pause is None
    else:
        assert pause is not None
        assert 0.3 <= pause <= max(40, wanted or 0)
        assert pause >= (wanted or 0)


@pytest.mark.parametrize("error", [Rejected("x"), Cancelled("x"), ModelError("x")])
def test_what_does_not_pass_is_not_waited_for(error: ModelError) -> None:
    assert Patience().pause(1, error, lambda: 0.5) is None


def test_a_meter_counts_whole_answers() -> None:
    usage = {"input_tokens": 3, "output_tokens": 5, "service_tier": "x", "cache_creation": {"a": 1}, "odd": True}
    answer = Answer((), usage=usage)
    meter = Metered(Patient(Scripted([Cut("x"), answer, answer]), Patience(first=0.001)))
    meter.complete(ASK)
    meter.complete(ASK)
    assert (meter.answers, meter.used) == (2, {"input_tokens": 6, "output_tokens": 10})
    assert meter.count_tokens(ASK) > 0


def test_patience_ends() -> None:
    script = Scripted(repeat(Busied("full")))
    with pytest.raises(Busied):
        Patient(script, Patience(attempts=3, first=0.001)).complete(ASK)
    assert len(script.requests) == 3
